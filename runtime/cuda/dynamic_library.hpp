// SPDX-License-Identifier: Apache-2.0
// A shared library taken at run time, so that one binary runs with and without it.
#pragma once

#include <string>
#include <vector>

#include "runtime/result.hpp"

namespace warpsmith::cuda {

/// Never closed: the CUDA libraries register handlers that must outlive their users.
class DynamicLibrary {
 public:
  /// The first of `names` (file names or paths) that loads; `unsupported` with the loader's words
  /// about the first otherwise.
  static Result<DynamicLibrary> open(const std::vector<std::string>& names);

  /// The folder that it lies in, as the loader found it.
  std::string folder() const;
  /// Null when the library has no such symbol.
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
