// SPDX-License-Identifier: Apache-2.0
// Kernel names as people write them. For jailed processes: names may be a candidate's choice.
#pragma once

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <string>

namespace warpsmith::sandbox {

/// As it is where it is no mangled name of C++, or a longer one than people read.
inline std::string demangled(const std::string& name) {
  constexpr size_t most_bytes = 4096;
  if (!name.starts_with("_Z") || name.size() > most_bytes) return name;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text{
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free};
  return status == 0 && text ? std::string(text.get()) : name;
}

}  // namespace warpsmith::sandbox
