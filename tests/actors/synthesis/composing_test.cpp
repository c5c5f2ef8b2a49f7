// SPDX-License-Identifier: Apache-2.0
// A synthesis with composers: the same tasks for any number of composers, after a loss, and after a
// resume.
#include <fstream>
#include <set>

#include "actors/sandbox/sandbox.hpp"
#include "actors/synthesis/synthesis.hpp"
#include "synthesis/funnel.hpp"
#include "tests/support/actor_test.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::actors {
namespace {

using synthesis::Composition;

std::string program(uint64_t number) {
  return "class Model:\n  pass\ndef get_inputs():\n  return [" + std::to_string(number) +
         "]\ndef get_init_inputs():\n  return []\n";
}

/// Every third candidate is rejected, and number 4 repeats number 0.
Composition composition(uint64_t index) {
  if (index % 3 == 2) return {.index = index, .reason = "too_fast", .detail = "0.01 ms"};
  const uint64_t like = index == 4 ? 0 : index;
  const std::string name = "t" + std::to_string(like);
  return {.index = index, .id = name, .code = program(like), .hash = name, .ops = {"torch.relu"}};
}

struct Heard {
  std::vector<uint64_t> asked;
  size_t dies_at = SIZE_MAX;  // the composer ends with that many requests
  size_t lost_at = SIZE_MAX;  // the composer's node is lost with that many requests
  size_t refused = 0;         // further requests that it then refuses
  size_t without_node = 0;    // the first composers, which have abandoned their nodes
};

ComposerActor::behavior_type without_node(ComposerActor::pointer /*self*/) {
  return {[](atom::status) { return ActorStatus{}; },
          [](atom::compose, uint64_t /*index*/) -> caf::result<Composition> {
            return to_caf({ErrorCode::process_failed, "the node was abandoned: no route"});
          },
          [](const Peers&) {}, [](const TokenChunk&) {}};
}

SupervisorActor::behavior_type hears_reports(SupervisorActor::pointer /*self*/,
                                             std::vector<FailureReport>* reports) {
  return {[](atom::status) { return ActorStatus{}; },
          [reports](const FailureReport& report) { reports->push_back(report); }, [](atom::stop) {},
          [](atom::snapshot) { return Observation{}; }};
}

ComposerActor::behavior_type scripted(ComposerActor::pointer self, Heard* heard) {
  return {[](atom::status) { return ActorStatus{}; },
          [self, heard](atom::compose, uint64_t index) -> caf::result<Composition> {
            heard->asked.push_back(index);
            if (heard->asked.size() == heard->dies_at) {
              self->quit(caf::exit_reason::kill);
              return caf::make_error(caf::sec::runtime_error);
            }
            if (heard->asked.size() == heard->lost_at) {
              return to_caf({ErrorCode::peer_lost, "the node is gone"});
            }
            if (heard->asked.size() > heard->lost_at && heard->refused > 0) {
              --heard->refused;
              return to_caf({ErrorCode::capacity, "the node is not ready yet"});
            }
            return composition(index);
          },
          [](const Peers&) {}, [](const TokenChunk&) {}};
}

class AcceptingBackend : public sandbox::Backend {
 public:
  Judgement evaluate(const sandbox::EvaluateRequest& /*request*/, Deadline /*deadline*/) override {
    return Verdict{};
  }
  Result<TaskFacts> ingest(const Task& /*task*/, Deadline /*deadline*/) override {
    return TaskFacts{};
  }
};

class ComposingTest : public ActorTest {
 protected:
  SynthesisActor start(uint64_t candidates, std::vector<Task> tasks = {}) {
    SynthesisSettings settings;
    settings.composing = {candidates, folder.path(), "{\"seed\":1}", 3};
    actor = sys.spawn(synthesis, identity("synthesis-0"), std::move(tasks), std::vector{judge},
                      settings);
    return actor;
  }
  void with_composers(size_t count) {
    composers.clear();
    for (size_t i = 0; i < count; ++i) {
      composers.push_back(i < heard.without_node ? sys.spawn(without_node)
                                                 : sys.spawn(scripted, &heard));
    }
    send_peers();
  }
  void send_peers() {
    Peers peers;
    peers.sandboxes = {judge};
    peers.composers = composers;
    peers.supervisor = supervisor;
    self->send(actor, peers);
    deliver_all();
  }
  void end(const SynthesisActor& one) {
    self->send_exit(one, caf::exit_reason::user_shutdown);
    deliver_all();
  }
  std::set<std::string> tasks() {
    std::set<std::string> seen;
    for (int i = 0; i < 40; ++i) seen.insert(ask<PreparedTask>(actor, atom::next_task_v)->task.id);
    return seen;
  }
  /// The summary line of the file.
  std::string funnel() {
    const auto text = read_text_file(folder.path() / synthesis::funnel_file, 1 << 16);
    const auto read = text ? synthesis::parse_funnel(*text) : tl::unexpected(text.error());
    return read ? line_of(*read) : read.error().message;
  }
  double gauge(const char* name) {
    return ask<ActorStatus>(actor, atom::status_v)->gauges.at(name);
  }
  void TearDown() override {
    for (const ComposerActor& one : composers) self->send_exit(one, caf::exit_reason::kill);
    end(actor);
    self->send_exit(judge, caf::exit_reason::user_shutdown);
    self->send_exit(supervisor, caf::exit_reason::user_shutdown);
    deliver_all();
  }

  test_support::TemporaryFolder folder;
  Heard heard;
  std::vector<ComposerActor> composers;
  std::vector<FailureReport> reports;
  SupervisorActor supervisor = sys.spawn(hears_reports, &reports);
  SandboxActor judge = sys.spawn(sandbox, identity("sandbox-0"),
                                 SandboxBackends{[]() -> Result<std::unique_ptr<sandbox::Backend>> {
                                                   return std::make_unique<AcceptingBackend>();
                                                 },
                                                 {}},
                                 SandboxActorSettings{.detached = false});
  SynthesisActor actor;
  const std::set<std::string> all{"t0", "t1", "t3", "t6", "t7", "t9"};
};

TEST_F(ComposingTest, ComposedTasksJoinThePoolAndTheRunFolder) {
  start(10);
  with_composers(1);
  EXPECT_EQ(tasks(), all);
  EXPECT_EQ(gauge("candidates"), 10);
  EXPECT_EQ(gauge("composed"), 6);
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "tasks/t9.py"));
  EXPECT_EQ(funnel(), "6 accepted of 10 candidates; rejected: 3 too_fast, 1 duplicate");
}

TEST_F(ComposingTest, TheTasksDoNotDependOnTheNumberOfComposers) {
  start(10);
  with_composers(4);
  EXPECT_EQ(tasks(), all);
  EXPECT_EQ(heard.asked.size(), 10U);
}

TEST_F(ComposingTest, ACandidateOfAComposerThatEndsIsComposedByAnother) {
  heard.dies_at = 3;
  start(10);
  with_composers(1);
  EXPECT_EQ(gauge("candidates"), 2);
  with_composers(2);
  EXPECT_EQ(tasks(), all);
}

TEST_F(ComposingTest, ACandidateOfALostNodeIsComposedByAnother) {
  heard.lost_at = 2;
  start(10);
  with_composers(2);
  EXPECT_EQ(tasks(), all);
  EXPECT_EQ(heard.asked.size(), 11U) << "one candidate was asked for twice";
}

TEST_F(ComposingTest, AComposerWithoutItsNodeIsAskedAgainAfterAWhile) {
  heard.lost_at = 3;
  heard.refused = 2;
  start(10);
  with_composers(1);
  EXPECT_EQ(gauge("candidates"), 2);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(heard.asked.size(), 3U + static_cast<size_t>(i));
    advance(std::chrono::seconds{5});
  }
  EXPECT_EQ(tasks(), all);
}

TEST_F(ComposingTest, ComposersThatAbandonedTheirNodesLeaveTheWorkToOthers) {
  heard.without_node = 2;
  start(10);
  with_composers(3);
  send_peers();
  EXPECT_EQ(tasks(), all);
  EXPECT_TRUE(reports.empty());
}

TEST_F(ComposingTest, WithoutAnyComposerTheRunEndsWithTheReason) {
  heard.without_node = 3;
  start(10);
  with_composers(3);
  ASSERT_FALSE(reports.empty());
  EXPECT_EQ(reports.front().code, ErrorCode::process_failed);
  EXPECT_EQ(reports.front().message,
            "no composer is left; the last: the node was abandoned: no route");
}

TEST_F(ComposingTest, AResumedRunContinuesWithItsTasks) {
  end(start(4));
  start(4);
  with_composers(2);
  EXPECT_EQ(tasks(), (std::set<std::string>{"t0", "t1", "t3"}));
  end(actor);
  heard.asked.clear();
  start(10);
  deliver_all();
  EXPECT_EQ(tasks(), (std::set<std::string>{"t0", "t1", "t3"})) << "before any composer exists";
  with_composers(2);
  EXPECT_EQ(tasks(), all);
  EXPECT_EQ(heard.asked.size(), 6U) << "what was composed is not composed again";
  EXPECT_EQ(funnel(), "6 accepted of 10 candidates; rejected: 3 too_fast, 1 duplicate");
}

TEST_F(ComposingTest, AJournalOfAnotherSeedEndsTheSynthesis) {
  std::ofstream{folder.path() / "journal.jsonl"} << "{\"seed\":2}\n";
  start(4);
  deliver_all();
  EXPECT_FALSE(ask<ActorStatus>(actor, atom::status_v).has_value());
}

TEST_F(ComposingTest, AComposedTaskThatTheRunAlreadyHasIsLeftOut) {
  Task task;
  task.id = "t1";
  start(10, {task});
  with_composers(1);
  EXPECT_EQ(tasks(), all);
  EXPECT_EQ(gauge("accepted"), 6);
}

}  // namespace
}  // namespace warpsmith::actors
