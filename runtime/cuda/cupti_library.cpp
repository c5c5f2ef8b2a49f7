// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cupti_library.hpp"

namespace warpsmith::cuda {

Result<DynamicLibrary> load_cupti() {
  auto cupti = DynamicLibrary::open({"libcupti.so.13", "libcupti.so", WARPSMITH_CUPTI_LIBRARY,
                                     "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so"});
  if (!cupti) return fail("no CUPTI", cupti.error());
  return cupti;
}

}  // namespace warpsmith::cuda
