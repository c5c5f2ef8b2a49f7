// SPDX-License-Identifier: Apache-2.0
// A shared library loaded at run time, so that one binary runs with and without it.
#pragma once

#include <string>
#include <vector>

#include "runtime/result.hpp"

namespace warpsmith::cuda {

/// The library is never closed: CUDA's libraries register handlers that must outlive their users.
class DynamicLibrary {
 public:
  /// Loads the first of `names` (file names or paths) that loads; otherwise `unsupported`, with the
  /// loader's message about the first.
  static Result<DynamicLibrary> open(const std::vector<std::string>& names);

  /// The folder of the library's file.
  std::string folder() const;
  /// Returns null if the library has no such symbol.
  void* find(const char* symbol) const;
  template <class Function>
  Function* function(const char* symbol) const {
    return reinterpret_cast<Function*>(find(symbol));
  }

 private:
  explicit DynamicLibrary(void* handle) : handle_(handle) {}
  void* handle_;
};

}  // namespace warpsmith::cuda
