// SPDX-License-Identifier: Apache-2.0
// Readable names of kernels. Only for jailed processes: a candidate may have chosen the name.
#pragma once

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <string>

namespace warpsmith::sandbox {

/// Returns `name` unchanged if it is not a mangled C++ name or is longer than 4 KiB.
inline std::string demangled(const std::string& name) {
  constexpr size_t most_bytes = 4096;
  if (!name.starts_with("_Z") || name.size() > most_bytes) return name;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text{
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free};
  return status == 0 && text ? std::string(text.get()) : name;
}

}  // namespace warpsmith::sandbox
