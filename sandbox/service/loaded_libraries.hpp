// SPDX-License-Identifier: Apache-2.0
// The files that this program needs to start in an otherwise empty jail.
#pragma once

#include <dlfcn.h>
#include <link.h>

#include <string>
#include <vector>

namespace warpsmith::sandbox {

/// A callback of dl_iterate_phdr.
inline int collect_library(dl_phdr_info* info, size_t /*size*/, void* into) {
  const std::string name = info->dlpi_name != nullptr ? info->dlpi_name : "";
  if (name.starts_with('/')) static_cast<std::vector<std::string>*>(into)->push_back(name);
  return 0;
}

/// The loader, every shared library of this process, and the libraries that candidates link
/// against. Absolute paths.
inline std::vector<std::string> loaded_libraries() {
  // Candidates may need these; this program does not link all of them.
  for (const char* name : {"libm.so.6", "libmvec.so.1", "libstdc++.so.6", "libgcc_s.so.1"}) {
    (void)::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  std::vector<std::string> files;
  (void)::dl_iterate_phdr(collect_library, &files);
  return files;
}

}  // namespace warpsmith::sandbox
