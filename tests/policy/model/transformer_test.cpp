// SPDX-License-Identifier: Apache-2.0
// Properties of every model: packing, caching, offloading and recomputing do not change the
// results.
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include "policy/model/libtorch_runtime.hpp"
#include "policy/model/offload.hpp"
#include "policy/model/transformer.hpp"
#include "tests/support/small_models.hpp"

namespace warpsmith::policy {
namespace {

TEST(HostRowsTest, AreReturnedInOrderAcrossChunks) {
  constexpr int64_t count = 2 * HostRows::chunk_rows + 100;
  const at::Tensor rows = at::arange(count * 6).view({count, 2, 3});
  HostRows kept;
  for (const auto& [first, last] : {std::pair<int64_t, int64_t>{0, 1},
                                    {1, HostRows::chunk_rows},
                                    {HostRows::chunk_rows, HostRows::chunk_rows + 50},
                                    {HostRows::chunk_rows + 50, count}}) {
    kept.append(rows.narrow(0, first, last - first));
  }
  EXPECT_EQ(kept.size(), count);
  const at::Tensor back = at::empty({count + 5, 2, 3}, rows.options());
  kept.copy_to(back);
  EXPECT_TRUE(at::equal(back.narrow(0, 0, count), rows));
}

using test::max_difference;
using test::random_tokens;

class TransformerTest : public testing::TestWithParam<Family> {
 protected:
  TransformerTest() : model_(test::small_model(GetParam(), at::kDouble)) {}

  at::Tensor hidden_of(const std::vector<int32_t>& tokens) const {
    const std::vector<std::vector<int32_t>> one{tokens};
    return model_.forward(pack_sequences(one));
  }

  /// Hidden states of the tokens, four pieces after each other. The cache moves to host memory
  /// before the piece of that index.
  at::Tensor in_pieces(const std::vector<int32_t>& tokens, size_t moved_before) const {
    SequenceCache cache(model_.config(), model_.computed().embed.options());
    std::vector<SequenceCache*> caches{&cache};
    std::vector<at::Tensor> parts;
    for (const auto& [first, last] : {std::pair{0, 5}, {5, 6}, {6, 70}, {70, 90}}) {
      if (parts.size() == moved_before) cache.move_to_host();
      const std::vector<std::vector<int32_t>> piece{
          {tokens.begin() + first, tokens.begin() + last}};
      parts.push_back(model_.forward(pack_sequences(piece), caches));
    }
    EXPECT_EQ(cache.length(), 90);
    EXPECT_EQ(cache.bytes() > 0, moved_before > 3);
    EXPECT_EQ(cache.host_bytes_with(90) > 0, moved_before <= 3);
    return at::cat(parts, 0);
  }

  Transformer model_;
};

TEST_P(TransformerTest, PackedEqualsOneByOne) {
  const at::NoGradGuard no_grad;
  const std::vector<std::vector<int32_t>> batch{random_tokens(7, 1), random_tokens(1, 2),
                                                random_tokens(12, 3)};
  const at::Tensor packed = model_.forward(pack_sequences(batch));
  const at::Tensor apart =
      at::cat({hidden_of(batch[0]), hidden_of(batch[1]), hidden_of(batch[2])}, 0);
  EXPECT_LT(max_difference(packed, apart), 1e-12);
}

TEST_P(TransformerTest, SegmentsWithCacheEqualTheWhole) {
  const at::NoGradGuard no_grad;
  const auto tokens = random_tokens(90, 4);  // more than the cache's first capacity
  EXPECT_LT(max_difference(in_pieces(tokens, /*moved_before=*/5), hidden_of(tokens)), 1e-12);
}

TEST_P(TransformerTest, ACacheInHostMemoryGivesTheSameNumbers) {
  const at::NoGradGuard no_grad;
  const auto tokens = random_tokens(90, 4);
  const at::Tensor stays = in_pieces(tokens, /*moved_before=*/5);
  for (const size_t before : {size_t{0}, size_t{2}}) {
    EXPECT_EQ(max_difference(in_pieces(tokens, before), stays), 0.0) << before;
  }
}

TEST_P(TransformerTest, GradientMatchesFiniteDifference) {
  Transformer model = test::small_model(GetParam(), at::kDouble);
  model.weights().require_grad();
  const std::vector<std::vector<int32_t>> batch{random_tokens(5, 6), random_tokens(3, 7)};
  const PackedBatch packed = pack_sequences(batch);
  const auto loss = [&] { return model.logits(model.forward(packed)).sin().sum(); };
  loss().backward();
  for (auto& [name, parameter] : model.weights().parameters()) {
    const at::NoGradGuard no_grad;
    const int64_t at = parameter.numel() / 2;
    at::Tensor element = parameter.detach().view(-1).narrow(0, at, 1);
    constexpr double step = 1e-5;
    element.add_(step);
    const double above = loss().item<double>();
    element.sub_(2 * step);
    const double below = loss().item<double>();
    element.add_(step);
    const double slope = parameter.grad().reshape(-1)[at].item<double>();
    EXPECT_NEAR((above - below) / (2 * step), slope, 1e-6 * (1 + std::abs(slope))) << name;
  }
}

TEST_P(TransformerTest, MapRoundTripKeepsEveryParameter) {
  const WeightMap map = weights_to_map(model_.config(), model_.weights());
  const auto again = weights_from_map(model_.config(), map, at::kDouble);
  ASSERT_TRUE(again) << again.error().message;
  const auto before = model_.weights().parameters();
  const auto after = again->parameters();
  ASSERT_EQ(before.size(), after.size());
  int64_t total = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_TRUE(before[i].second.equal(after[i].second)) << before[i].first;
    total += before[i].second.numel();
  }
  EXPECT_EQ(total, model_.config().parameter_count());
}

INSTANTIATE_TEST_SUITE_P(Families, TransformerTest,
                         testing::Values(Family::llama, Family::qwen2, Family::qwen3),
                         [](const auto& family) { return to_string(family.param); });

TEST(WeightsTest, AllocatedParametersHaveTheShapesOfRandomOnes) {
  for (const Family family : {Family::llama, Family::qwen2, Family::qwen3}) {
    const Transformer model = test::small_model(family);
    const auto allocated = allocate_weights(model.config()).parameters();
    const auto random = model.weights().parameters();
    ASSERT_EQ(allocated.size(), random.size());
    for (size_t i = 0; i < random.size(); ++i) {
      EXPECT_EQ(allocated[i].first, random[i].first);
      EXPECT_EQ(allocated[i].second.sizes(), random[i].second.sizes());
    }
  }
}

TEST(WeightsTest, MissingTensorIsNamed) {
  const Transformer model = test::small_model(Family::llama);
  WeightMap map = weights_to_map(model.config(), model.weights());
  map.erase("model.layers.1.self_attn.k_proj.weight");
  const auto loaded = weights_from_map(model.config(), map);
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().message.find("model.layers.1.self_attn.k_proj.weight"),
            std::string::npos);
}

TEST(WeightsTest, WrongShapeNamesExpectedAndGot) {
  const Transformer model = test::small_model(Family::llama);
  WeightMap map = weights_to_map(model.config(), model.weights());
  map["model.norm.weight"] = map["model.norm.weight"].narrow(0, 0, 3);
  const auto loaded = weights_from_map(model.config(), map);
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().message.find("expected shape [24], got [3]"), std::string::npos)
      << loaded.error().message;
}

TEST(WeightsTest, UnknownTensorIsRefused) {
  const Transformer model = test::small_model(Family::llama);
  WeightMap map = weights_to_map(model.config(), model.weights());
  map["model.layers.0.self_attn.q_norm.weight"] = map["model.norm.weight"];
  EXPECT_FALSE(weights_from_map(model.config(), map));
}

TEST(WeightsTest, CloneDoesNotFollowTheOriginal) {
  const Transformer model = test::small_model(Family::qwen3);
  const ModelWeights copy = model.weights().clone();
  const double before = copy.embed.sum().item<double>();
  model.weights().embed.detach().mul_(2.0);
  EXPECT_EQ(copy.embed.sum().item<double>(), before);
  EXPECT_TRUE(copy.head.is_same(copy.embed)) << "tied weights stay tied";
}

TEST(WeightsTest, EqualStreamsMakeEqualModels) {
  RandomStream a(3, "weights");
  RandomStream b(3, "weights");
  const ModelConfig config = test::small_config(Family::llama);
  EXPECT_TRUE(make_weights(config, a).layers[1].down.equal(make_weights(config, b).layers[1].down));
}

TEST(WeightsTest, ThreadsDoNotChangeTheValues) {
  ModelConfig config = test::small_config(Family::llama);
  config.vocab = 70'000;  // the embedding is filled in several parts
  const int before = at::get_num_threads();
  const auto made_with = [&config](int threads) {
    use_threads(threads);
    RandomStream random(3, "weights");
    return make_weights(config, random);
  };
  const ModelWeights alone = made_with(1);
  const ModelWeights together = made_with(3);
  use_threads(before);
  EXPECT_TRUE(alone.embed.equal(together.embed));
  EXPECT_TRUE(alone.layers[1].down.equal(together.layers[1].down));
  EXPECT_NEAR(alone.embed.std().item<double>(), config.init_std, 1e-3 * config.init_std * 5);
}

/// A loss that depends on the hidden states and on the output head.
at::Tensor loss_of(const Transformer& model) {
  const std::vector<std::vector<int32_t>> batch{random_tokens(9, 1), random_tokens(14, 2)};
  const PackedBatch packed = pack_sequences(batch);
  const TokenLogProbs scores = token_log_probs(model.forward(packed), model.head(), packed.tokens,
                                               {.chunk_elements = int64_t{61} * 5});
  return (scores.log_probs * scores.log_probs.detach().sin()).sum() + scores.entropy.sum();
}

class RecomputeTest : public testing::TestWithParam<Family> {
 protected:
  /// The same model, with the loss's gradients.
  static Transformer trained(const ComputeOptions& compute, at::ScalarType dtype) {
    const Transformer plain = test::small_model(GetParam(), dtype);
    Transformer model{plain.config(), plain.weights().clone(), compute};
    model.weights().require_grad();
    loss_of(model).backward();
    return model;
  }
};

TEST_P(RecomputeTest, GradientsEqualThoseOfKeptActivations) {
  const Transformer kept = trained({}, at::kDouble);
  const Transformer again = trained({.recompute = true}, at::kDouble);
  EXPECT_LT(max_difference(loss_of(kept).detach(), loss_of(again).detach()), 1e-11);
  const auto expected = kept.weights().parameters();
  const auto got = again.weights().parameters();
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_TRUE(got[i].second.grad().defined()) << expected[i].first;
    const double size = expected[i].second.grad().abs().max().item<double>();
    EXPECT_LT(max_difference(expected[i].second.grad(), got[i].second.grad()), 1e-11 * (1 + size))
        << expected[i].first;
  }
}

// bf16 keeps 8 bits, so that a gradient, a sum of many rounded terms, is right to a few percent.
TEST_P(RecomputeTest, NarrowCopyGivesWideGradientsCloseToThoseOfTheWideModel) {
  const Transformer wide = trained({}, at::kFloat);
  const Transformer narrow = trained({.type = at::kBFloat16}, at::kFloat);
  const auto expected = wide.weights().parameters();
  const auto got = narrow.weights().parameters();
  for (size_t i = 0; i < expected.size(); ++i) {
    const at::Tensor& gradient = got[i].second.grad();
    ASSERT_TRUE(gradient.defined()) << expected[i].first;
    EXPECT_EQ(gradient.scalar_type(), at::kFloat) << expected[i].first;
    const double size = expected[i].second.grad().norm().item<double>();
    EXPECT_LT((expected[i].second.grad() - gradient).norm().item<double>(), 0.1 * size)
        << expected[i].first;
  }
}

TEST_P(RecomputeTest, InputsInHostMemoryGiveTheSameGradients) {
  for (const auto type : {std::optional<at::ScalarType>{}, std::optional{at::kBFloat16}}) {
    const Transformer kept = trained({.type = type, .recompute = true}, at::kFloat);
    const Transformer stashed =
        trained({.type = type, .recompute = true, .stash = true}, at::kFloat);
    const auto expected = kept.weights().parameters();
    const auto got = stashed.weights().parameters();
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(max_difference(expected[i].second.grad(), got[i].second.grad()), 0.0)
          << expected[i].first;
    }
  }
}

TEST_P(RecomputeTest, RefreshBringsTheCopyUpToDate) {
  const Transformer plain = test::small_model(GetParam());
  Transformer model{plain.config(), plain.weights().clone(), {.type = at::kBFloat16}};
  model.weights().embed.mul_(2);
  EXPECT_GT(max_difference(model.computed().embed, model.weights().embed), 0.1);
  model.refresh();
  EXPECT_EQ(max_difference(model.computed().embed, model.weights().embed.to(at::kBFloat16)), 0.0);
}

INSTANTIATE_TEST_SUITE_P(Families, RecomputeTest,
                         testing::Values(Family::llama, Family::qwen2, Family::qwen3),
                         [](const auto& family) { return std::string(to_string(family.param)); });

}  // namespace

}  // namespace warpsmith::policy
