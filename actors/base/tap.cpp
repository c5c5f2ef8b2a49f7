// SPDX-License-Identifier: Apache-2.0
#include "actors/base/tap.hpp"

namespace warpsmith::actors {
namespace {

class SilentTap : public Tap {
 public:
  void delivered(const Delivery& /*delivery*/) override {}
};

}  // namespace

std::unique_ptr<Tap> make_silent_tap() {
  return std::make_unique<SilentTap>();
}

}  // namespace warpsmith::actors
