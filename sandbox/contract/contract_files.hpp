// SPDX-License-Identifier: Apache-2.0
// Which files a solution of each contract consists of. Pure.
#pragma once

#include <string_view>

#include "sandbox/contract/cpu/cpu_contract.hpp"
#include "sandbox/contract/host/host_submission.hpp"

namespace warpsmith::sandbox {

/// Without it there is nothing to judge. Empty: any file will do; of contract `device` the judge
/// itself says which of two are missing, and a plan of library steps alone needs no kernels.cu.
inline std::string_view required_file(std::string_view contract) {
  if (contract == "host") return host_module_file;
  return contract == "device" ? "" : cpu_source_file;
}

/// What an agent is asked to write.
inline std::string_view solution_files(std::string_view contract) {
  if (contract == "host") return "solution/model_new.py and what it needs of solution/kernels/";
  return contract == "device" ? "solution/kernels.cu and solution/plan.toml"
                              : "solution/kernel.cpp";
}

}  // namespace warpsmith::sandbox
