// SPDX-License-Identifier: Apache-2.0
// A bound on how deeply JSON from outside is nested: walks over it, ours and the library's,
// recurse.
#pragma once

namespace warpsmith::policy {

/// Gives the parser's callback, and says afterwards whether the text was nested beyond `most`. What
/// was parsed until then is not to be used.
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

}  // namespace warpsmith::policy
