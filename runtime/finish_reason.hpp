// SPDX-License-Identifier: Apache-2.0
// Why a generation request ended.
#pragma once

#include <cstdint>

namespace warpsmith {

enum class FinishReason : uint8_t {
  none,        // more tokens follow
  stop_token,  // the last token is one of the stop tokens
  length,      // as many tokens as the request allows are sampled
  context,     // the session holds as many tokens as a session may
};

}  // namespace warpsmith
