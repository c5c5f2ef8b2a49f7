// SPDX-License-Identifier: Apache-2.0
// Calls into a CUPTI that was loaded at run time. For sources built with the toolkit only.
#pragma once

#include <cupti.h>
#include <fmt/format.h>

#include <string>

#include "runtime/cuda/dynamic_library.hpp"
#include "runtime/result.hpp"

namespace warpsmith::cuda {

/// Formats an error as "CUPTI error 35 (CUPTI_ERROR_INSUFFICIENT_PRIVILEGES)".
inline std::string cupti_error_text(const DynamicLibrary& cupti, CUptiResult code) {
  const char* name = nullptr;
  auto* named = cupti.function<decltype(cuptiGetResultString)>("cuptiGetResultString");
  if (named != nullptr) (void)named(code, &name);
  return fmt::format("CUPTI error {}{}", code,
                     name == nullptr ? "" : " (" + std::string(name) + ")");
}

/// Makes a call by name; `unsupported` if the library lacks it or it fails.
template <class Function, class... Arguments>
Result<void> cupti_call(const DynamicLibrary& cupti, const char* name, Arguments... arguments) {
  auto* call = cupti.function<Function>(name);
  if (call == nullptr) return fail(ErrorCode::unsupported, std::string{"libcupti lacks "} + name);
  const CUptiResult code = call(arguments...);
  if (code == CUPTI_SUCCESS) return {};
  return fail(ErrorCode::unsupported,
              std::string{name} + " failed: " + cupti_error_text(cupti, code));
}

/// Makes a call: `WARPSMITH_CUPTI(cupti, cuptiActivityEnable, kind)`.
#define WARPSMITH_CUPTI(cupti, call, ...) cupti_call<decltype(call)>(cupti, #call, __VA_ARGS__)

/// A call's parameters with their size set, as CUPTI's profiling calls require.
template <class Params>
Params cupti_params(size_t bytes) {
  Params params{};
  params.structSize = bytes;
  return params;
}
#define WARPSMITH_CUPTI_PARAMS(name) cupti_params<name##_Params>(name##_Params_STRUCT_SIZE)

}  // namespace warpsmith::cuda
