// SPDX-License-Identifier: Apache-2.0
// A composer whose worker asks the run's own generator: answers, failures and silence reach it.
#include <fstream>
#include <thread>

#include "actors/composer/composer.hpp"
#include "runtime/environment.hpp"
#include "tests/actors/composer/worker_preamble.hpp"
#include "tests/support/actor_test.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::actors {
namespace {

using std::chrono::milliseconds;

// Replaces serve.py: asks one question for each candidate, and puts the answer in the record.
constexpr const char* asking_worker = R"(
while True:
    index = receive()["index"]
    send({"ask": "hello"})
    reply = receive()
    failed = "failed" in reply
    send({"index": index, "reason": "no_answer" if failed else "no_python",
          "detail": reply["failed"] if failed else reply["answer"], "steps": {}})
)";

enum class Manner : uint8_t { answers, is_busy, is_silent };

struct AskedGenerator {
  Manner manner = Manner::answers;
  std::vector<GenerateCall> calls;
  std::vector<TrajectoryId> released;
};

/// Answers in capital letters, in two chunks.
GeneratorActor::behavior_type generator_of_capitals(GeneratorActor::pointer self,
                                                    AskedGenerator* heard) {
  return {[](atom::status) { return ActorStatus{}; }, [](const WeightsReady&) {},
          [heard](atom::release, TrajectoryId session) { heard->released.push_back(session); },
          [self, heard](const GenerateCall& call) -> caf::result<bool> {
            heard->calls.push_back(call);
            if (heard->manner == Manner::is_busy) {
              return to_caf({ErrorCode::capacity, "all 32 slots are taken"});
            }
            if (heard->manner == Manner::is_silent) return true;
            const auto asker = caf::actor_cast<TokenReaderActor>(self->current_sender());
            self->send(asker, TokenChunk{call.session, call.turn, {'H', 'E'}, {}, {}, {}});
            self->send(
                asker,
                TokenChunk{call.session, call.turn, {'Y', 0}, {}, {}, FinishReason::stop_token});
            return true;
          }};
}

class ComposerPolicyTest : public ActorTest {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(python_interpreter())) GTEST_SKIP() << "no WARPSMITH_PYTHON";
    const auto file = folder.path() / "worker";
    std::ofstream(file) << "#!" << python_interpreter().string() << '\n'
                        << worker_preamble << asking_worker;
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    settings.worker = {.python = file.string(), .settings = "{}", .cores = {}};
    settings.policy = PolicyText{
        .encode = [](const std::string& t) { return std::vector<int32_t>(t.begin(), t.end()); },
        .decode = [](std::span<const int32_t> t) { return std::string(t.begin(), t.end()); },
        .stop_tokens = {0},
        .max_tokens = 20,
        .max_answer = 8};
  }
  void TearDown() override {
    self->send_exit(actor, caf::exit_reason::user_shutdown);
    self->send_exit(generator, caf::exit_reason::user_shutdown);
    deliver_all();
  }
  void start(std::vector<GeneratorActor> generators) {
    actor = sys.spawn(composer, identity("composer-0"), settings);
    send_peers(std::move(generators));
  }
  void send_peers(std::vector<GeneratorActor> generators) {
    Peers peers;
    peers.generators = std::move(generators);
    self->send(actor, peers);
  }
  /// Lets the worker's process run until `done` or for two minutes.
  template <class Done>
  void run_until(Done done) {
    const Deadline deadline = Deadline::after(std::chrono::seconds{120});
    do {
      advance(settings.tick);
      std::this_thread::sleep_for(milliseconds{5});  // a separate process
    } while (!done() && !deadline.passed());
  }
  template <class Request>
  synthesis::Composition received(Request& request) {
    run_until([&] { return !self->mailbox().empty(); });
    synthesis::Composition found{.reason = "no answer"};
    if (self->mailbox().empty()) return found;
    request.receive([&](synthesis::Composition& out) { found = std::move(out); },
                    [&](caf::error& error) { found.reason = from_caf(error).message; });
    return found;
  }
  // The clock of messages is fast here: an answer after its time-out would stay in the mailbox.
  auto asked_for(uint64_t index) {
    return self->request(actor, caf::infinite, atom::compose_v, index);
  }
  std::string detail_of(uint64_t index) {
    auto request = asked_for(index);
    const auto found = received(request);
    return found.reason + ": " + found.detail;
  }

  test_support::TemporaryFolder folder;
  AskedGenerator heard;
  ComposerSettings settings;
  GeneratorActor generator = sys.spawn(generator_of_capitals, &heard);
  ComposerActor actor;
};

TEST_F(ComposerPolicyTest, TheGeneratorsTokensAreTheAnswerAndItsSessionIsReleased) {
  start({generator});
  EXPECT_EQ(detail_of(7), "no_python: HEY");
  EXPECT_EQ(detail_of(8), "no_python: HEY");
  ASSERT_EQ(heard.calls.size(), 2U);
  EXPECT_EQ(heard.calls[0].new_tokens, (std::vector<int32_t>{'h', 'e', 'l', 'l', 'o'}));
  EXPECT_EQ(heard.calls[0].credit, 8);
  EXPECT_EQ(heard.released, (std::vector{composing_session(7), composing_session(8)}));
}

TEST_F(ComposerPolicyTest, ABusyGeneratorIsAFailureAndComposingContinues) {
  heard.manner = Manner::is_busy;
  start({generator});
  EXPECT_EQ(detail_of(7), "no_answer: all 32 slots are taken");
  heard.manner = Manner::answers;
  EXPECT_EQ(detail_of(8), "no_python: HEY");
}

TEST_F(ComposerPolicyTest, ASilentGeneratorIsAFailureAtTheDeadline) {
  settings.policy_timeout = milliseconds{50};
  heard.manner = Manner::is_silent;
  start({generator});
  EXPECT_EQ(detail_of(7),
            "no_answer: the policy did not answer within synthesis.compose.answer_time");
  EXPECT_EQ(heard.released, std::vector{composing_session(7)});
}

TEST_F(ComposerPolicyTest, AGeneratorThatEndsIsAFailureAtOnce) {
  heard.manner = Manner::is_silent;
  start({generator});
  auto request = asked_for(7);
  run_until([&] { return !heard.calls.empty(); });
  ASSERT_EQ(heard.calls.size(), 1U);
  send_peers({});
  EXPECT_EQ(received(request).detail, "the generator ended");
  EXPECT_EQ(detail_of(8), "no_answer: there is no generator");
}

}  // namespace
}  // namespace warpsmith::actors
