// SPDX-License-Identifier: Apache-2.0
// Timed calls of contract `host` on the CPU, with one core for both sides. Tests without times are
// in evaluator_host_test.cpp and host_hacks_test.cpp.
#include <nlohmann/json.hpp>

#include "tests/sandbox/support/host_fixture.hpp"

namespace warpsmith::sandbox {
namespace {

using test::honest_forward;
using test::model_new;
using ::testing::HasSubstr;

class HostTimingTest : public test::HostJudged {
 protected:
  static void SetUpTestSuite() { open_on(0); }
  static Judgement timed(const std::string& model) {
    return judge({{"model_new.py", model}}, Request::final);
  }
  /// The machine was too noisy to decide: the one failure for which a test may skip.
  static bool is_noise(const Judgement& judgement) {
    const auto* failure = std::get_if<InfraFailure>(&judgement);
    return failure != nullptr && failure->kind == InfraKind::noise;
  }
};

TEST_F(HostTimingTest, RecordsTheClockAndWhatWasSubtracted) {
  const Judgement judgement = timed(model_new(honest_forward));
  if (const auto* failure = std::get_if<InfraFailure>(&judgement)) {
    EXPECT_EQ(failure->kind, InfraKind::noise) << failure->detail;
    return;
  }
  const Verdict& v = std::get<Verdict>(judgement);
  ASSERT_EQ(v.outcome, VerdictClass::passed) << v.feedback;
  EXPECT_GT(*v.shapes.at(0).candidate_ms,
            nlohmann::json::parse(v.evidence).at("floor_ms").get<double>());
  EXPECT_THAT(v.evidence, HasSubstr("\"output_copy_ms\""));
  EXPECT_THAT(v.evidence, HasSubstr("\"sampled_positions\":256"));
  EXPECT_THAT(v.evidence, HasSubstr("\"undisturbed\":null"));
}

// Watches the buffers and computes the answer before forward is called, if it ever runs in between.
constexpr const char* ahead =
    "import threading\n"
    "class Ahead(threading.Thread):\n"
    "    def __init__(self):\n"
    "        super().__init__(daemon=True)\n"
    "        self.args = self.seen = self.y = None\n"
    "    def run(self):\n"
    "        while True:\n"
    "            if self.args is None: continue\n"
    "            x, bias, scale = self.args\n"
    "            now = (float(x[0, 0]), float(x[-1, -1]))\n"
    "            if now != self.seen:\n"
    "                y = x * scale + bias\n"
    "                self.y, self.seen = y - y.mean(-1, keepdim=True), now\n";

TEST_F(HostTimingTest, AThreadThatComputesAheadGainsNothing) {
  const std::string hack = model_new(
      "self.ahead.args = (x, self.bias, scale); now = (float(x[0, 0]), float(x[-1, -1]))\n"
      "        while self.ahead.seen != now: pass\n"
      "        return self.ahead.y",
      ahead, "self.ahead = Ahead(); self.ahead.start()");
  const Judgement cheated = timed(hack), honest = timed(model_new(honest_forward));
  for (const Judgement& judgement : {cheated, honest}) {
    if (is_noise(judgement)) GTEST_SKIP() << std::get<InfraFailure>(judgement).detail;
    ASSERT_TRUE(std::holds_alternative<Verdict>(judgement));
  }
  const auto& gained = std::get<Verdict>(cheated);
  const auto& usual = std::get<Verdict>(honest);
  ASSERT_EQ(usual.outcome, VerdictClass::passed) << usual.feedback;
  if (!gained.correct()) return;  // it gained nothing
  EXPECT_LT(gained.shapes.front().speedup_eager.value(),
            1.5 * usual.shapes.front().speedup_eager.value());
}

}  // namespace
}  // namespace warpsmith::sandbox
