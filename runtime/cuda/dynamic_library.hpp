// SPDX-License-Identifier: Apache-2.0
// A shared library loaded at run time, so that one binary runs with and without it.
#pragma once

#include <dlfcn.h>
#include <link.h>

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/result.hpp"

namespace warpsmith::cuda {

/// The library is never closed: CUDA's libraries register handlers that must outlive their users.
class DynamicLibrary {
 public:
  /// Loads the first of `names` (file names or paths) that can be loaded; otherwise `unsupported`,
  /// with the loader's message about the first.
  static Result<DynamicLibrary> open(const std::vector<std::string>& names) {
    std::string first_reason = "no library named";
    for (const std::string& name : names) {
      if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return DynamicLibrary{handle};
      const char* reason = dlerror();  // NOLINT(concurrency-mt-unsafe): glibc's is per thread
      if (&name == names.data() && reason != nullptr) first_reason = reason;
    }
    return fail(ErrorCode::unsupported, first_reason);
  }

  /// The folder of the library's file.
  std::string folder() const {
    link_map* map = nullptr;
    if (dlinfo(handle_, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0) return {};
    return std::filesystem::path(map->l_name).parent_path().string();
  }

  /// Returns null if the library has no such symbol.
  void* find(const char* symbol) const { return dlsym(handle_, symbol); }

  template <class Function>
  Function* function(const char* symbol) const {
    return reinterpret_cast<Function*>(find(symbol));
  }

 private:
  explicit DynamicLibrary(void* handle) : handle_(handle) {}
  void* handle_;
};

}  // namespace warpsmith::cuda
