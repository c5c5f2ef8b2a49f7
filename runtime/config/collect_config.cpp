// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/collect_config.hpp"

namespace warpsmith {

void describe(Fields& fields, CollectConfig& c) {
  fields.integer("samples", c.samples, {.low = 1, .high = 1 << 20});
  fields.flag("greedy", c.greedy);
}

}  // namespace warpsmith
