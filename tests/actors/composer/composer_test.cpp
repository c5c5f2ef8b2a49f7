// SPDX-License-Identifier: Apache-2.0
// A composer whose worker is on a node: it refuses until the node is ready, and outlives it.
#include "actors/composer/composer.hpp"

#include <fstream>
#include <thread>

#include "runtime/environment.hpp"
#include "tests/actors/composer/worker_preamble.hpp"
#include "tests/support/actor_test.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::actors {
namespace {

using std::chrono::milliseconds;

// Replaces a serve.py whose node cannot be reached or refuses the run: ends with that status.
constexpr const char* unreachable =
    "import sys\nprint('no route to far', file=sys.stderr)\nsys.exit(";

// The first process ends with its first candidate; later ones reject each candidate.
constexpr const char* script = R"(
first = not os.path.exists(MARK)
open(MARK, "w").close()
while True:
    index = receive()["index"]
    if first:
        sys.exit("the node is lost")
    send({"index": index, "reason": "too_fast", "detail": "", "steps": {}})
)";

class ComposerTest : public ActorTest {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(python_interpreter())) GTEST_SKIP() << "no WARPSMITH_PYTHON";
    const std::string mark = (folder.path() / "mark").string();
    with_worker("MARK = '" + mark + "'" + worker_preamble + script);
    settings.first_backoff = settings.longest_backoff = milliseconds{10};
  }
  void with_worker(const std::string& text) {
    const auto file = folder.path() / "worker";
    std::ofstream(file) << "#!" << python_interpreter().string() << '\n' << text;
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    settings.worker = {.python = file.string(), .settings = "{}", .cores = {}};
  }
  void TearDown() override {
    self->send_exit(actor, caf::exit_reason::user_shutdown);
    deliver_all();
  }
  void start() { actor = sys.spawn(composer, identity("composer-1"), settings); }

  /// The answer, while the worker's process runs.
  Result<synthesis::Composition> composed(uint64_t index) {
    // The clock of messages is fast here: an answer after its time-out would stay in the mailbox.
    auto request = self->request(actor, caf::infinite, atom::compose_v, index);
    Result<synthesis::Composition> answer = fail(ErrorCode::timeout, "no answer");
    const Deadline deadline = Deadline::after(std::chrono::seconds{120});
    do {
      if (deadline.passed()) return answer;
      advance(settings.tick);
      std::this_thread::sleep_for(milliseconds{5});  // a separate process
    } while (self->mailbox().empty());
    request.receive([&](synthesis::Composition& out) { answer = std::move(out); },
                    [&](caf::error& error) { answer = tl::unexpected(from_caf(error)); });
    return answer;
  }

  /// The first answer that is not the refusal of a composer that waits for its node.
  Result<synthesis::Composition> composed_once_there(uint64_t index) {
    const Deadline deadline = Deadline::after(std::chrono::seconds{120});
    auto answer = composed(index);
    while (!answer && answer.error().code == ErrorCode::capacity && !deadline.passed()) {
      answer = composed(index);
    }
    return answer;
  }
  std::string phase() { return ask<ActorStatus>(actor, atom::status_v)->phase; }

  test_support::TemporaryFolder folder;
  ComposerSettings settings;
  ComposerActor actor;
};

TEST_F(ComposerTest, SurvivesTheLossOfItsNodeAndCallsItAgain) {
  settings.node = "ssh far";
  start();
  const auto refused = composed(7);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::capacity) << "a candidate does not wait for a node";
  const auto lost = composed_once_there(7);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, ErrorCode::peer_lost) << lost.error().message;
  EXPECT_NE(lost.error().message.find("the node is lost"), std::string::npos);
  EXPECT_EQ(phase(), "no node");
  const auto found = composed_once_there(7);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->index, 7U);
  EXPECT_EQ(found->reason, "too_fast");
  EXPECT_EQ(phase(), "idle");
}

TEST_F(ComposerTest, AbandonsANodeThatIsNeverReachedAndSaysWhy) {
  settings.node = "ssh far";
  with_worker(unreachable + std::string{"1)\n"});
  start();
  const auto given_up = composed_once_there(7);
  ASSERT_FALSE(given_up);
  EXPECT_EQ(given_up.error().code, ErrorCode::process_failed);
  EXPECT_NE(
      given_up.error().message.find("the node was abandoned after 4 calls: the composing worker "
                                    "ended with exit status 1: no route to far"),
      std::string::npos)
      << given_up.error().message;
  EXPECT_EQ(composed(7).error().message, given_up.error().message) << "it is not called again";
}

TEST_F(ComposerTest, AbandonsANodeThatIsUnreachableForTooLong) {
  settings.node = "ssh far";
  settings.longest_absence = milliseconds{50};
  start();
  const auto lost = composed_once_there(7);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, ErrorCode::peer_lost) << "it was there just now";
  with_worker(unreachable + std::string{"1)\n"});
  const auto given_up = composed_once_there(7);
  ASSERT_FALSE(given_up);
  EXPECT_EQ(given_up.error().code, ErrorCode::process_failed);
  EXPECT_NE(given_up.error().message.find("the node was abandoned, unreachable for "),
            std::string::npos)
      << given_up.error().message;
  EXPECT_EQ(composed(7).error().message, given_up.error().message) << "it is not called again";
}

TEST_F(ComposerTest, DoesNotCallANodeAgainThatRefusesTheRun) {
  settings.node = "ssh far";
  with_worker(unreachable + std::string{"2)\n"});
  start();
  const auto refused = composed_once_there(7);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("the node was abandoned: the composing worker ended with "
                                         "exit status 2: no route to far"),
            std::string::npos)
      << refused.error().message;
}

TEST_F(ComposerTest, TheDeathOfALocalWorkerCountsAsTheCandidatesFault) {
  start();
  const auto died = composed(7);
  ASSERT_TRUE(died) << died.error().message;
  EXPECT_EQ(died->reason, "died");
  EXPECT_EQ(composed(8)->reason, "too_fast");
}

TEST_F(ComposerTest, ReturnsTheCandidateWhenTheGpuIsNotFree) {
  with_worker(worker_preamble +
              std::string{"receive()\nprint('gpu-0.lock: not free', file=sys.stderr)\n"
                          "sys.exit(75)\n"});
  start();
  for (uint64_t index = 7; index < 12; ++index) {  // more than deaths in a row that end an actor
    const auto busy = composed(index);
    ASSERT_FALSE(busy);
    EXPECT_EQ(busy.error().code, ErrorCode::capacity);
    EXPECT_EQ(busy.error().message,
              "composer-1: the composing worker ended with exit status 75: gpu-0.lock: not free");
  }
  EXPECT_EQ(phase(), "idle");
}

TEST_F(ComposerTest, StopsComposingWhenItsWorkerReportsThatNothingFollows) {
  with_worker(worker_preamble +
              std::string{"receive()\nprint('status 401', file=sys.stderr)\nsys.exit(2)\n"});
  start();
  const auto refused = composed(7);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::process_failed);
  EXPECT_EQ(refused.error().message,
            "composer-1: stopped composing: the composing worker ended with exit status 2: status "
            "401");
  EXPECT_EQ(composed(8).error().message, refused.error().message);
}

}  // namespace
}  // namespace warpsmith::actors
