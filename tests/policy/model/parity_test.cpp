// SPDX-License-Identifier: Apache-2.0
// Small random models of each family against `transformers` (tests/golden/models/make_models.py).
#include <ATen/core/grad_mode.h>
#include <ATen/ops/log_softmax.h>
#include <gtest/gtest.h>

#include "policy/format/hf_folder.hpp"
#include "policy/format/safetensors.hpp"
#include "policy/generate/cpu/cpu_engine.hpp"
#include "tests/support/json_file.hpp"
#include "tests/support/small_models.hpp"

namespace warpsmith::policy {
namespace {

using Sequences = std::vector<std::vector<int32_t>>;

class ParityTest : public testing::TestWithParam<const char*> {
 protected:
  std::string folder() const { return std::string("tests/golden/models/") + GetParam(); }
  nlohmann::json golden() const { return warpsmith::test::json_file(folder() + "/golden.json"); }

  Transformer load(at::ScalarType dtype) const {
    auto model = load_hf_model(folder(), dtype);
    if (!model) throw std::runtime_error(model.error().message);
    return std::move(*model);
  }
  at::Tensor expected_logits() const {
    const auto tensors = read_safetensors(folder() + "/golden.safetensors");
    if (!tensors) throw std::runtime_error(tensors.error().message);
    return tensors->at("logits").clone();
  }
  at::Tensor logits_of(const Transformer& model) const {
    const at::NoGradGuard no_grad;
    const auto sequences = golden().at("sequences").get<Sequences>();
    return model.logits(model.forward(pack_sequences(sequences)));
  }
};

// Both sides round rotary angles to float32, so only float64 rounding differs.
TEST_P(ParityTest, Float64LogitsAgree) {
  EXPECT_LT(test::max_difference(logits_of(load(at::kDouble)), expected_logits()), 1e-9);
}

TEST_P(ParityTest, Float32LogProbsAgree) {
  const at::Tensor ours = at::log_softmax(logits_of(load(at::kFloat)).to(at::kDouble), -1);
  const at::Tensor theirs = at::log_softmax(expected_logits(), -1);
  EXPECT_LT(test::max_difference(ours, theirs), 1e-4);
  EXPECT_LT((ours - theirs).abs().mean().item<double>(), 5e-6);
}

TEST_P(ParityTest, EngineContinuesGreedilyLikeTransformers) {
  const Transformer model = load(at::kFloat);
  auto engine = make_cpu_engine(model.config(), {.max_session_tokens = 128});
  ASSERT_TRUE(engine) << engine.error().message;
  (*engine)->load({}, model.weights());
  const auto sequences = golden().at("sequences").get<Sequences>();
  const auto greedy = golden().at("greedy").get<Sequences>();
  for (size_t i = 0; i < greedy.size(); ++i) {
    EngineRequest request{.session = i, .whole = true, .new_tokens = sequences[i]};
    request.params.temperature = 0;
    request.params.max_tokens = static_cast<int32_t>(greedy[i].size());
    ASSERT_TRUE((*engine)->submit(request));
  }
  while ((*engine)->has_work()) (*engine)->step();
  for (size_t i = 0; i < greedy.size(); ++i) {
    auto expected = sequences[i];
    expected.insert(expected.end(), greedy[i].begin(), greedy[i].end());
    EXPECT_EQ((*engine)->tokens_of(i), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ParityTest,
                         testing::Values("llama", "llama3_scaled", "llama_linear_bias", "qwen2",
                                         "qwen3"),
                         [](const auto& model) { return std::string(model.param); });

}  // namespace
}  // namespace warpsmith::policy
