// SPDX-License-Identifier: Apache-2.0
// Whole runs with a brain: the real tree, a scripted sandbox, and a scripted endpoint on loopback.
#include "actors/brain/brain.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>

#include "runtime/policy_version.hpp"
#include "runtime/run/trajectory_reader.hpp"
#include "tests/actors/run/run_fixture.hpp"
#include "tests/support/scripted_endpoint.hpp"

namespace warpsmith::actors {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test_support::completion;
using test_support::Ending;
using test_support::ScriptedEndpoint;
using test_support::ScriptedReply;
using testing::HasSubstr;

constexpr const char* key_variable = "WARPSMITH_TEST_BRAIN_KEY";
constexpr const char* key = "sk-0123456789abcdef";

/// The number of turns of the agent in a request's messages.
size_t turns_in(const json& request) {
  size_t turns = 0;
  for (const json& message : request["messages"]) turns += message["role"] == "assistant" ? 1 : 0;
  return turns;
}

ScriptedReply writes() {
  return completion("Writing.",
                    {{"write", R"({"path": "solution/kernel.cpp", "content": "int a;"})"}});
}

/// Writes a kernel, then submits it.
ScriptedReply works(const json& request) {
  return turns_in(request) == 0 ? writes() : completion("", {{"submit", "{}"}});
}

class BrainTest : public RunFixture {
 protected:
  void SetUp() override {
    ::setenv(key_variable, key, 1);
    ::setenv("no_proxy", "127.0.0.1", 1);
  }

  RunConfig brain_config(const std::string& url, std::vector<std::string> more = {}) const {
    std::vector<std::string> keys{"run.stage=collect",
                                  "run.trajectories=2",
                                  "learner.step.trajectories=1",
                                  "agent.max_tokens=4096",
                                  "agent.result_tokens=256",
                                  "rollout.count=1",
                                  "generator.max_new_tokens=1000",
                                  "brain.model=strong",
                                  "brain.stream=false",
                                  "brain.max_wait=20",
                                  std::string{"brain.key_env="} + key_variable};
    if (!url.empty()) keys.push_back("brain.url=" + url);
    keys.insert(keys.end(), more.begin(), more.end());
    return config(keys);
  }

  /// The supervisor's last phase; the end that the brain requested is in `asked`.
  std::string run_brain(const RunConfig& c) {
    auto session = begin_run(c, "test", "{}");
    if (!session) throw std::runtime_error(session.error().message);
    auto inputs = load_inputs(c, c.model.folder);
    if (!inputs) throw std::runtime_error(inputs.error().message);
    inputs->learns = false;
    losses.none = true;
    const auto whole = with_session(std::move(*inputs), *session);
    std::string phase = run(whole, UINT64_MAX);
    asked = whole->end->asked();
    return phase;
  }

  std::vector<Trajectory> trajectories() const {
    auto reader = TrajectoryReader::open({folder.path() / "run"}).value();
    std::vector<Trajectory> all;
    const std::vector<TrajectoryRow> rows = reader.closed().value();
    all.reserve(rows.size());
    for (const TrajectoryRow& row : rows) all.push_back(*reader.load(row.id));
    return all;
  }
  std::string stored(const std::string& name) const {
    return read_text_file(folder.path() / "run" / "brain" / name, 1U << 24U).value_or("");
  }
  std::vector<json> lines(TrajectoryId id) const {
    std::vector<json> all;
    std::istringstream file{stored(std::to_string(id) + ".jsonl")};
    for (std::string line; std::getline(file, line);) all.push_back(json::parse(line));
    return all;
  }
  BrainUsage usage() const { return usage_from_json(stored("usage.json")).value(); }
  /// The reason of every dropped trajectory.
  std::string drops() const {
    auto db = RunDatabase::open(RunPaths{folder.path() / "run"}.database(), SqlAccess::read_only);
    std::string all;
    (void)db->connection().each(
        "SELECT drop_detail FROM trajectories WHERE drop_detail IS NOT NULL", {},
        [&](const SqlRow& row) -> Result<void> {
          all += row.text(0) + '\n';
          return {};
        });
    return all;
  }

  std::optional<EndRequest::Why> asked;
};

TEST_F(BrainTest, RecordsWholeTrajectoriesWithNativeTools) {
  const ScriptedEndpoint endpoint{[](const json& r, int /*nth*/) { return works(r); }};
  ASSERT_EQ(run_brain(brain_config(endpoint.url())), "done");
  const auto all = trajectories();
  ASSERT_EQ(all.size(), 2U) << drops();
  for (const Trajectory& t : all) {
    EXPECT_EQ(t.outcome.verdict, VerdictClass::passed);
    EXPECT_EQ(t.outcome.turns, 2U);
    for (const Segment& s : t.segments) {
      EXPECT_TRUE(std::ranges::any_of(s.log_probs, [](float v) { return std::isnan(v); }))
          << "no weights sampled these tokens";
    }
  }
  EXPECT_EQ(endpoint.keys().front(), std::string{"Bearer "} + key);
  const json last = endpoint.requests().back();
  EXPECT_EQ(last["messages"].back()["role"], "tool");
  EXPECT_EQ(last["model"], "strong");
  EXPECT_TRUE(last.contains("tools"));
  const auto exchange = lines(1);
  ASSERT_EQ(exchange.size(), 4U);
  EXPECT_EQ(exchange[0]["messages"].back()["role"], "user");
  EXPECT_EQ(exchange[1]["answer"]["message"]["tool_calls"][0]["name"], "write");
  EXPECT_EQ(usage(), (BrainUsage{4, 4, 400, 40, 0}));
}

TEST_F(BrainTest, RecordsWholeTrajectoriesWithTextAndAStream) {
  const ScriptedEndpoint endpoint{[](const json& r, int /*nth*/) {
    return test_support::stream(
        turns_in(r) == 0
            ? "Hm.\n<tool_call>\n<function=write>\n<parameter=path>\nsolution/kernel.cpp\n"
              "</parameter>\n<parameter=content>\nint a;\n</parameter>\n</function>\n"
              "</tool_call>"
            : "<tool_call>\n<function=submit>\n</function>\n</tool_call>");
  }};
  ASSERT_EQ(run_brain(brain_config(endpoint.url(), {"brain.tools=text", "brain.stream=true"})),
            "done");
  ASSERT_EQ(trajectories().size(), 2U) << drops();
  EXPECT_EQ(trajectories()[0].outcome.verdict, VerdictClass::passed);
  EXPECT_FALSE(endpoint.requests().back().contains("tools"));
  EXPECT_EQ(endpoint.requests().back()["messages"].back()["role"], "user");
}

/// 429, a failure, a cut answer and silence in turn, each before the answer.
TEST_F(BrainTest, SurvivesTransientFailures) {
  const ScriptedEndpoint endpoint{[](const json& r, int nth) {
    if (nth == 0) return ScriptedReply{.status = 429, .headers = {{"Retry-After", "3600"}}};
    if (nth == 1) return ScriptedReply{.status = 500, .body = R"({"error": {"message": "oops"}})"};
    ScriptedReply reply = works(r);
    if (nth == 2) reply.ending = Ending::cut;
    if (nth == 3) reply.delay = seconds{600};
    return reply;
  }};
  ASSERT_EQ(
      run_brain(brain_config(endpoint.url(), {"run.trajectories=1", "brain.silence_timeout=3000"})),
      "done");
  ASSERT_EQ(trajectories().size(), 1U) << drops();
  EXPECT_EQ(usage().requests, 6);
  EXPECT_EQ(usage().answers, 2);
  const std::string text = stored("1.jsonl");
  for (const char* why :
       {"429", "500: oops", "the connection was cut", "too slow: no data for 3 s"}) {
    EXPECT_THAT(text, HasSubstr(why));
  }
}

TEST_F(BrainTest, AnEndpointThatIsDownEndsTheRunForAResume) {
  ASSERT_EQ(run_brain(brain_config("http://127.0.0.1:1/v1", {"brain.retries=1"})), "done");
  ASSERT_TRUE(asked);
  EXPECT_FALSE(asked->limit);
  EXPECT_THAT(asked->error.message,
              HasSubstr("http://127.0.0.1:1/v1/chat/completions: not reachable"));
  EXPECT_THAT(asked->error.message, HasSubstr("attempt 2"));
  EXPECT_EQ(summary().dropped_total(), 0U);
  EXPECT_GT(summary().open, 0U);
}

/// The endpoint quotes the key; nothing that is stored or shown does.
TEST_F(BrainTest, AWrongKeyEndsTheRunAndIsNeverShown) {
  const ScriptedEndpoint endpoint{[](const json& /*r*/, int /*nth*/) {
    return ScriptedReply{
        .status = 401,
        .body = json{{"error", {{"message", std::string{"Incorrect API key: "} + key}}}}.dump()};
  }};
  ASSERT_EQ(run_brain(brain_config(endpoint.url())), "done");
  ASSERT_TRUE(asked);
  EXPECT_THAT(asked->error.message,
              HasSubstr(std::string{"check the key in the variable "} + key_variable));
  EXPECT_THAT(asked->error.message, HasSubstr("Incorrect API key: [key]"));
  for (const auto& entry : std::filesystem::recursive_directory_iterator{folder.path()}) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file{entry.path(), std::ios::binary};
    const std::string text{std::istreambuf_iterator<char>{file}, {}};
    EXPECT_EQ(text.find(key), std::string::npos) << entry.path();
  }
}

TEST_F(BrainTest, AMissingKeyIsNamedBeforeTheRun) {
  ::unsetenv(key_variable);
  const RunConfig c = brain_config("http://127.0.0.1:1/v1");
  const auto inputs = load_inputs(c, c.model.folder);
  ASSERT_FALSE(inputs);
  EXPECT_EQ(inputs.error().code, ErrorCode::invalid_config);
  EXPECT_THAT(inputs.error().message, HasSubstr(key_variable));
}

TEST_F(BrainTest, AKeyTooShortToBeRedactedIsRefused) {
  const RunConfig c = brain_config("http://127.0.0.1:1/v1");
  ::setenv(key_variable, "q7w8e9", 1);
  const auto refused = brain_key(c.brain);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_config);
  EXPECT_THAT(refused.error().message,
              testing::AllOf(HasSubstr(key_variable), HasSubstr("8 characters"),
                             testing::Not(HasSubstr("q7w8e9"))));
  ::setenv(key_variable, "q7w8e9r0", 1);
  EXPECT_TRUE(brain_key(c.brain));
}

TEST_F(BrainTest, AnHtmlPageInsteadOfAnAnswerIsQuoted) {
  const ScriptedEndpoint endpoint{[](const json& /*r*/, int /*nth*/) {
    return ScriptedReply{.type = "text/html", .body = "<html>Sign in</html>"};
  }};
  ASSERT_EQ(run_brain(brain_config(endpoint.url())), "done");
  ASSERT_TRUE(asked);
  EXPECT_THAT(asked->error.message,
              HasSubstr("expected JSON, got text/html: <html>Sign in</html>"));
}

/// After a first answer a refusal is about one trajectory.
TEST_F(BrainTest, ARefusalDropsOneTrajectory) {
  const ScriptedEndpoint endpoint{[](const json& r, int nth) {
    if (nth == 2) return ScriptedReply{.status = 400, .body = R"({"error": "too long"})"};
    return works(r);
  }};
  ASSERT_EQ(run_brain(brain_config(endpoint.url(), {"run.trajectories=3", "rollout.concurrent=1"})),
            "done");
  EXPECT_FALSE(asked);
  EXPECT_EQ(trajectories().size(), 2U);
  EXPECT_THAT(drops(), HasSubstr("400: too long"));
}

TEST_F(BrainTest, ALimitEndsTheRunAndKeepsJudgedTrajectories) {
  const ScriptedEndpoint endpoint{[](const json& r, int /*nth*/) { return works(r); }};
  ASSERT_EQ(run_brain(brain_config(endpoint.url(), {"run.trajectories=9", "rollout.concurrent=1",
                                                    "brain.max_requests=3"})),
            "done");
  ASSERT_TRUE(asked);
  EXPECT_TRUE(asked->limit);
  EXPECT_THAT(asked->error.message, HasSubstr("brain.max_requests (3) is reached"));
  EXPECT_EQ(endpoint.requests().size(), 3U);
  EXPECT_EQ(trajectories().size(), 1U);
  EXPECT_EQ(summary().open, 1U);
}

TEST_F(BrainTest, RepeatedCallsEndAtTheLimitOfTurns) {
  const ScriptedEndpoint endpoint{[](const json& /*r*/, int /*nth*/) { return writes(); }};
  ASSERT_EQ(run_brain(brain_config(endpoint.url(), {"run.trajectories=1", "agent.max_turns=3"})),
            "done");
  ASSERT_EQ(trajectories().size(), 1U) << drops();
  EXPECT_TRUE(trajectories()[0].outcome.truncated);
  EXPECT_EQ(endpoint.requests().size(), 3U);
}

TEST_F(BrainTest, AnAnswerThatIsTooLongIsCutAtTheTurnsLimit) {
  const ScriptedEndpoint endpoint{[](const json& r, int nth) {
    return nth == 0 ? completion(std::string(4000, 'x')) : works(r);
  }};
  ASSERT_EQ(run_brain(brain_config(endpoint.url(), {"run.trajectories=1", "agent.max_turns=4",
                                                    "generator.max_new_tokens=200"})),
            "done");
  ASSERT_EQ(trajectories().size(), 1U) << drops();
  EXPECT_EQ(trajectories()[0].segments[0].versions.size(), trajectories()[0].segments[0].size());
  EXPECT_THAT(endpoint.requests()[1].dump(), HasSubstr("the turn was cut after"));
}

TEST_F(BrainTest, AFolderOfSolutionsIsUsedInOrder) {
  const auto put = [&](const char* name, const char* text) {
    const auto place = folder.path() / "solutions" / name;
    std::filesystem::create_directories(place);
    std::ofstream{place / "kernel.cpp"} << text;
  };
  RunConfig c =
      brain_config("", {"run.trajectories=3", "agent.answer=files", "rollout.concurrent=1",
                        "brain.candidates=" + (folder.path() / "solutions").string()});
  c.synthesis.tasks = {"configs/tasks/cpu/train/square_mean.py"};
  const auto inputs = load_inputs(c, c.model.folder);
  ASSERT_FALSE(inputs);
  EXPECT_THAT(inputs.error().message, HasSubstr("brain.candidates: expected a folder"));
  put("square_mean/1", "int one;");
  put("square_mean/2", "int two;");
  ASSERT_EQ(run_brain(c), "done");
  EXPECT_EQ(trajectories().size(), 2U) << drops();
  EXPECT_NE(trajectories()[0].outcome.source_hash, trajectories()[1].outcome.source_hash);
  EXPECT_THAT(drops(), HasSubstr("no recorded solution for sample 3 of task square_mean: "));
}

TEST_F(BrainTest, PpoIsRefusedByName) {
  RunConfig c = brain_config("http://127.0.0.1:1/v1");
  EXPECT_FALSE(check_trainable(c));
  EXPECT_THAT(check_trainable(c).error().message, HasSubstr("[brain]"));
  EXPECT_THAT(check_trainable(c).error().message, HasSubstr("\"rft\""));
}

TEST_F(BrainTest, WrongKeysOfTheConfigurationAreNamed) {
  const auto refusal = [](std::vector<std::string> keys) {
    keys.push_back("run.stage=collect");
    const auto loaded = load_run_config("configs/quickstart.toml", keys);
    return loaded ? std::string{"accepted"} : loaded.error().message;
  };
  const std::string url = "brain.url=https://host/v1";
  EXPECT_THAT(refusal({url, "brain.model=m"}), "accepted");
  EXPECT_THAT(refusal({url}), HasSubstr("brain.model"));
  EXPECT_THAT(refusal({"brain.url=host", "brain.model=m"}), HasSubstr("brain.url"));
  EXPECT_THAT(refusal({"brain.url=https://u:secret@host/v1", "brain.model=m"}),
              testing::AllOf(HasSubstr("brain.url"), testing::Not(HasSubstr("secret"))));
  EXPECT_THAT(refusal({url, "brain.model=m", "brain.key_env=sk-secret-1"}),
              testing::AllOf(HasSubstr("brain.key_env"), testing::Not(HasSubstr("sk-secret-1"))));
  for (const char* budget : {"brain.max_requests", "brain.max_tokens", "brain.max_cost"}) {
    EXPECT_THAT(refusal({url, "brain.model=m", std::string{budget} + "=0"}),
                HasSubstr("a budget of 0 allows no request"));
  }
  EXPECT_THAT(refusal({url, "brain.model=m", "brain.max_cost=5"}), HasSubstr("brain.price_in"));
  EXPECT_THAT(refusal({"brain.candidates=/tmp"}), HasSubstr("agent.answer"));
}

}  // namespace
}  // namespace warpsmith::actors
