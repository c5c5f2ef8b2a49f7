// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/dynamic_library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <filesystem>

namespace warpsmith::cuda {

Result<DynamicLibrary> DynamicLibrary::open(const std::vector<std::string>& names) {
  std::string first_reason = "no library named";
  for (const std::string& name : names) {
    if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return DynamicLibrary{handle};
    const char* reason = dlerror();  // NOLINT(concurrency-mt-unsafe): glibc's is per thread
    if (&name == names.data() && reason != nullptr) first_reason = reason;
  }
  return fail(ErrorCode::unsupported, first_reason);
}

std::string DynamicLibrary::folder() const {
  link_map* map = nullptr;
  if (dlinfo(handle_, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0) return {};
  return std::filesystem::path(map->l_name).parent_path().string();
}

void* DynamicLibrary::find(const char* symbol) const {
  return dlsym(handle_, symbol);
}

}  // namespace warpsmith::cuda
