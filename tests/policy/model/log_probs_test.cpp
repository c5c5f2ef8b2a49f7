// SPDX-License-Identifier: Apache-2.0
// token_log_probs against the formula on all logits at once.
#include "policy/model/log_probs.hpp"

#include <ATen/ops/full.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "tests/support/small_models.hpp"

namespace warpsmith::policy {
namespace {

using test::max_difference;

struct Inputs {
  at::Tensor hidden, head, targets;
};

Inputs make_inputs() {
  const Transformer model = test::small_model(Family::llama, at::kDouble);
  const std::vector<std::vector<int32_t>> batch{test::random_tokens(13, 1)};
  const PackedBatch packed = pack_sequences(batch);
  Inputs in{model.forward(packed).detach(), model.weights().head.detach().clone(), packed.tokens};
  in.hidden.set_requires_grad(true);
  in.head.set_requires_grad(true);
  return in;
}

TokenLogProbs reference(const Inputs& in, double temperature) {
  const at::Tensor all = at::log_softmax(at::linear(in.hidden, in.head) / temperature, 1);
  return {all.gather(1, in.targets.unsqueeze(1)).squeeze(1), -(all.exp() * all).sum(1)};
}

at::Tensor mixed_loss(const TokenLogProbs& out, bool use_entropy) {
  const at::Tensor loss = (out.log_probs * out.log_probs.detach().sin()).sum();
  return use_entropy ? loss + out.entropy.pow(2).sum() : loss;
}

class LogProbsGradientTest : public testing::TestWithParam<bool> {};

TEST_P(LogProbsGradientTest, ValuesAndGradientsEqualWholeLogits) {
  const Inputs ours = make_inputs();
  const Inputs plain = make_inputs();
  const TokenLogProbs a = token_log_probs(ours.hidden, ours.head, ours.targets,
                                          {.temperature = 0.7, .chunk_elements = 61 * 5});
  const TokenLogProbs b = reference(plain, 0.7);
  EXPECT_LT(max_difference(a.log_probs, b.log_probs), 1e-12);
  EXPECT_LT(max_difference(a.entropy, b.entropy), 1e-12);
  mixed_loss(a, GetParam()).backward();
  mixed_loss(b, GetParam()).backward();
  EXPECT_LT(max_difference(ours.hidden.grad(), plain.hidden.grad()), 1e-11);
  EXPECT_LT(max_difference(ours.head.grad(), plain.head.grad()), 1e-11);
}

// The entropy's term of the gradient is p (log p + H): not a number where p is 0.
TEST(LogProbsTest, UnusedEntropyAddsNothingToTheGradient) {
  const at::Tensor hidden = at::full({1, 1}, 1e10, at::kFloat).requires_grad_();
  const at::Tensor head = at::tensor({0.0F, 1e-10F, -1e30F}).view({3, 1}).requires_grad_();
  const at::Tensor target = at::zeros({1}, at::kLong);
  token_log_probs(hidden, head, target).log_probs.sum().backward();
  EXPECT_TRUE(hidden.grad().isfinite().all().item<bool>());
  EXPECT_TRUE(head.grad().isfinite().all().item<bool>());
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutEntropy, LogProbsGradientTest, testing::Bool());

}  // namespace
}  // namespace warpsmith::policy
