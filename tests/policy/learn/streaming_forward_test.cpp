// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/streaming_forward.hpp"

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "tests/policy/learn/tiny_world.hpp"

namespace warpsmith::policy {
namespace {

/// A trajectory in two segments; tests may change the weights between them.
class StreamingForwardTest : public testing::TestWithParam<CriticKind> {
 protected:
  StreamingForwardTest()
      : networks_(tiny_config(), tiny_weights(1), {.kind = GetParam(), .surprise = true}, 1.0),
        played_(TinyWorld{5}.play(
            {{}, std::make_shared<const ModelWeights>(networks_.actor().weights().clone())})) {
    const at::NoGradGuard no_grad;
    networks_.value_head().weight.fill_(0.1);
  }

  void change_weights() {
    const at::NoGradGuard no_grad;
    for (auto& [name, tensor] : networks_.actor().weights().parameters()) tensor.mul_(1.2);
    for (auto& [name, tensor] : networks_.value_head().parameters()) tensor.add_(0.1);
  }

  /// The largest difference between the second segment's scores and one whole forward pass.
  double error_of(bool change, bool refresh) {
    HeldTrajectory held;
    KeptPrefix prefix{networks_};
    EXPECT_TRUE(held.append(played_.segments[0]));
    prefix.extend(networks_, held, {}, refresh, beside_);
    if (change) change_weights();
    EXPECT_TRUE(held.append(played_.segments[1]));
    prefix.extend(networks_, held, {.updates = change ? 1U : 0U}, refresh, beside_);
    const at::NoGradGuard no_grad;
    const HeldTrajectory* pack = &held;
    const TokenEvaluation whole = networks_.evaluate({&pack, 1}, Reach::everything);
    double error = 0;
    const std::vector<int64_t> actions = action_positions(held);
    for (size_t i = 2; i < actions.size(); ++i) {
      const auto row = static_cast<int64_t>(i);
      const auto t = static_cast<size_t>(actions[i]);
      error = std::max(error, std::abs(held.proximal[t] - whole.log_prob[row].item<double>()));
      error = std::max(error, std::abs(held.values[t] - whole.value[row].item<double>()));
    }
    return error;
  }

  ActorCritic networks_;
  Trajectory played_;
  const SideStream beside_{at::kCPU};
};

TEST_P(StreamingForwardTest, SegmentBySegmentEqualsWhole) {
  EXPECT_LT(error_of(/*change=*/false, /*refresh=*/false), 1e-5);
}

TEST_P(StreamingForwardTest, RefreshedPrefixIsExactAfterWeightsChanged) {
  EXPECT_LT(error_of(/*change=*/true, /*refresh=*/true), 1e-5);
}

TEST_P(StreamingForwardTest, KeptPrefixIsNotRecomputedWithoutRefresh) {
  EXPECT_GT(error_of(/*change=*/true, /*refresh=*/false), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Critics, StreamingForwardTest,
                         testing::Values(CriticKind::shared, CriticKind::separate));

}  // namespace
}  // namespace warpsmith::policy
