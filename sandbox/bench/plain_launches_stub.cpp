// SPDX-License-Identifier: Apache-2.0
// Stands in for plain_launches.cpp in builds without a CUDA toolkit.
#include "sandbox/bench/plain_launches.hpp"

namespace warpsmith::sandbox {

Result<std::vector<double>> time_plain_launches(int, const BoundPlan&, const std::string&, int,
                                                const BeforeCall&) {
  return fail(ErrorCode::unsupported, "plain launches: built without a CUDA toolkit");
}

}  // namespace warpsmith::sandbox
