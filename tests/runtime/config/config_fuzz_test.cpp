// SPDX-License-Identifier: Apache-2.0
// Mutated configurations are rejected with a message or read; nothing crashes or hangs.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "runtime/config/run_config.hpp"
#include "runtime/random_stream.hpp"

namespace warpsmith {
namespace {

std::string read(const std::string& file) {
  std::ifstream in{file};
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// Makes one to four edits: changes a byte, removes or repeats a stretch, cuts off the end.
std::string mutate(std::string text, RandomStream& stream) {
  const uint64_t edits = 1 + stream.below(4);
  for (uint64_t i = 0; i < edits && text.size() > 2; ++i) {
    const size_t at = stream.below(text.size());
    const size_t length = std::min<size_t>(1 + stream.below(16), text.size() - at);
    switch (stream.below(4)) {
      case 0:
        text[at] = static_cast<char>(stream.below(256));
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(stream.below(text.size()), text.substr(at, length));
        break;
      default:
        text.resize(at);
    }
  }
  return text;
}

TEST(ConfigFuzzTest, MutatedFilesGiveAMessageOrAConfiguration) {
  const std::string good = read("configs/quickstart.toml");
  ASSERT_FALSE(good.empty());
  RandomStream stream(1, "config fuzz");
  int rejected = 0;
  for (int i = 0; i < 1500; ++i) {
    const auto config = parse_run_config("f.toml", mutate(good, stream), {});
    if (config) continue;
    ++rejected;
    EXPECT_EQ(config.error().message.rfind("f.toml", 0), 0U) << config.error().message;
  }
  EXPECT_GT(rejected, 500);
}

TEST(ConfigFuzzTest, MutatedOverridesGiveAMessageOrAConfiguration) {
  const std::string good = read("configs/quickstart.toml");
  RandomStream stream(2, "override fuzz");
  for (int i = 0; i < 500; ++i) {
    const auto config =
        parse_run_config("f.toml", good, {mutate("learner.optimizer.learning_rate=1e-5", stream)});
    EXPECT_TRUE(config.has_value() || !config.error().message.empty());
  }
}

}  // namespace
}  // namespace warpsmith
