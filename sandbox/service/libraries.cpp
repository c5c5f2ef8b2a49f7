// SPDX-License-Identifier: Apache-2.0
#include "sandbox/service/libraries.hpp"

#include <dlfcn.h>
#include <link.h>

namespace warpsmith::sandbox {
namespace {

int collect(dl_phdr_info* info, size_t /*size*/, void* into) {
  const std::string name = info->dlpi_name != nullptr ? info->dlpi_name : "";
  if (name.starts_with('/')) static_cast<std::vector<std::string>*>(into)->push_back(name);
  return 0;
}

}  // namespace

std::vector<std::string> loaded_libraries() {
  // Candidates may need these; this program does not link all of them.
  for (const char* name : {"libm.so.6", "libmvec.so.1", "libstdc++.so.6", "libgcc_s.so.1"}) {
    (void)::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  std::vector<std::string> files;
  (void)::dl_iterate_phdr(collect, &files);
  return files;
}

}  // namespace warpsmith::sandbox
