// SPDX-License-Identifier: Apache-2.0
// The names that a source may use with nvcc and not with NVRTC: nvcc includes headers of the host's
// C library by itself.
#pragma once

#include "sandbox/compile/nvrtc_library.hpp"

namespace warpsmith::sandbox {

/// Whether a source failed for such a name, or for a standard header that holds some.
bool lacks_implicit_names(const std::string& log);

/// The same source with these names, and with small standard headers: <cmath>, <cstdint>, <cfloat>,
/// <climits>, <cstddef>, <cassert>, <cstdio>, <cstdlib>, <cstring> and their C forms. A file of the
/// source's own hides one of the same name.
CudaSource with_implicit_names(CudaSource source);

}  // namespace warpsmith::sandbox
