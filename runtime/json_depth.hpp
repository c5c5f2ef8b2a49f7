// SPDX-License-Identifier: Apache-2.0
// Limits the nesting of untrusted JSON, because code that walks over it recurses. Pure.
#pragma once

namespace warpsmith {

/// A callback for the parser, and whether the text was nested deeper than `most`. If it was,
/// discard the result.
class JsonDepth {
 public:
  explicit JsonDepth(int most = 64) : most_(most) {}

  auto watch() {
    return [this](int depth, auto /*event*/, auto& /*value*/) {
      exceeded_ = exceeded_ || depth > most_;
      return !exceeded_;
    };
  }
  bool exceeded() const { return exceeded_; }

 private:
  int most_;
  bool exceeded_ = false;
};

}  // namespace warpsmith
