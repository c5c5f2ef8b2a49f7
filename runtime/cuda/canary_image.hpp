// SPDX-License-Identifier: Apache-2.0
// The compiled canary kernel (canary.cu), embedded by the build.
#pragma once

namespace warpsmith::cuda {

/// A fat binary for the driver's module loader.
extern const unsigned char canary_image[];

}  // namespace warpsmith::cuda
