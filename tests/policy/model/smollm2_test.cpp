// SPDX-License-Identifier: Apache-2.0
// SmolLM2-135M, a pretrained model, against `transformers`. Needs the folder made by
// tests/golden/smollm2.py.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/log_softmax.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "policy/format/hf_folder.hpp"
#include "policy/format/safetensors.hpp"
#include "policy/format/tokenizer_json.hpp"
#include "policy/generate/cpu/cpu_engine.hpp"
#include "policy/text/chat_format.hpp"
#include "runtime/environment.hpp"
#include "runtime/process/child.hpp"
#include "tests/support/json_file.hpp"

namespace warpsmith::policy {
namespace {

namespace fs = std::filesystem;
using Sequences = std::vector<std::vector<int32_t>>;

fs::path cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const fs::path base = cache != nullptr ? fs::path(cache) : fs::path(home ? home : ".") / ".cache";
  return base / "warpsmith" / "smollm2-135m";
}

class SmolLm2Test : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(folder_ / "golden.json")) {
      GTEST_SKIP() << "no " << folder_ << ": python tests/golden/smollm2.py makes it";
    }
    golden_ = warpsmith::test::json_file((folder_ / "golden.json").string());
  }
  Transformer load() const {
    auto model = load_hf_model(folder_);
    if (!model) throw std::runtime_error(model.error().message);
    return std::move(*model);
  }

  fs::path folder_ = cache_folder();
  nlohmann::json golden_;
};

TEST_F(SmolLm2Test, TokenizesLikeTransformers) {
  const auto tokenizer = read_tokenizer(folder_);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  const auto texts = golden_["texts"].get<std::vector<std::string>>();
  ASSERT_EQ(texts.size(), 200U);
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(tokenizer->encode(texts[i]), golden_["ids"][i].get<std::vector<int32_t>>())
        << nlohmann::json(texts[i]).dump();
  }
}

/// The conversation as text; with `opened`, including the beginning of the next answer.
std::string written(std::vector<ChatMessage> messages, bool opened, const ChatFrame& frame) {
  if (opened) messages.push_back({"assistant", ""});
  auto pieces = chat_pieces(messages, frame);
  if (opened) pieces.pop_back();
  std::string text;
  for (const ChatPiece& piece : pieces) text += piece.text.text();
  return text;
}

/// The output of the model's own template.
Result<ChatFrame> own_frame(const fs::path& folder, const Tokenizer& tokenizer) {
  const ChildSpec spec{
      .argv = {python_interpreter().string(), "scripts/render_chat_template.py", folder.string()}};
  const auto ran = run_child(spec, Deadline::after(std::chrono::seconds{60}));
  if (!ran) return tl::unexpected(ran.error());
  return frame_of_renderings(ran->out, tokenizer);
}

TEST_F(SmolLm2Test, WritesChatsLikeTransformers) {
  const auto tokenizer = read_tokenizer(folder_);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  const auto frame = own_frame(folder_, *tokenizer);
  ASSERT_TRUE(frame) << frame.error().message;
  for (const auto& item : golden_["chats"]) {
    const auto text = item["text"].get<std::string>();
    std::vector<ChatMessage> messages;
    for (const auto& m : item["messages"]) messages.push_back({m["role"], m["content"]});
    EXPECT_EQ(written(messages, item["generation_prompt"], *frame), text);
  }
}

// The limit is the distance between float32 and float64 forward passes of transformers. The softmax
// is float64 on both sides, because torch's float32 softmax has a larger error on AVX2.
TEST_F(SmolLm2Test, LogProbsDifferNoMoreThanTransformersBetweenPrecisions) {
  const at::NoGradGuard no_grad;
  const Transformer model = load();
  const auto sequences = golden_["sequences"].get<Sequences>();
  const at::Tensor hidden = model.forward(pack_sequences(sequences));
  const at::Tensor theirs = read_safetensors(folder_ / "golden.safetensors")->at("log_probs");
  double worst = 0;
  int64_t first = 0;
  for (size_t i = 0; i < sequences.size(); ++i) {
    const auto count = static_cast<int64_t>(sequences[i].size());
    const at::Tensor logits = model.logits(hidden.narrow(0, first, count));
    const at::Tensor ours = at::log_softmax(logits.to(at::kDouble), -1);
    const at::Tensor gap = (ours - theirs.narrow(0, first, count)).abs();
    worst = std::max(worst, gap.max().item<double>());
    EXPECT_LE(gap.mean().item<double>(), 2e-5) << "text " << i;
    first += count;
  }
  const double own = golden_["own_float32_max"].get<double>();
  std::printf("max |log-prob gap| %.3g, transformers' own %.3g\n", worst, own);
  EXPECT_LE(worst, 2 * own);
}

TEST_F(SmolLm2Test, ContinuesGreedilyLikeTransformers) {
  const Transformer model = load();
  auto engine = make_cpu_engine(model.config(), {.max_session_tokens = 256, .cache_tokens = 8192});
  ASSERT_TRUE(engine) << engine.error().message;
  (*engine)->load({}, model.weights());
  const auto prompts = golden_["prompts"].get<Sequences>();
  const auto greedy = golden_["greedy"].get<Sequences>();
  for (size_t i = 0; i < prompts.size(); ++i) {
    EngineRequest request{.session = i, .whole = true, .new_tokens = prompts[i]};
    request.params.temperature = 0;
    request.params.max_tokens = 64;
    ASSERT_TRUE((*engine)->submit(request));
  }
  while ((*engine)->has_work()) (*engine)->step();
  for (size_t i = 0; i < prompts.size(); ++i) {
    auto tokens = (*engine)->tokens_of(i);
    tokens.erase(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(prompts[i].size()));
    EXPECT_EQ(tokens, greedy[i]) << "prompt " << i;
  }
}

}  // namespace
}  // namespace warpsmith::policy
