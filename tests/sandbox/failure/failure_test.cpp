// SPDX-License-Identifier: Apache-2.0
#include "sandbox/failure/failure.hpp"

#include <gtest/gtest.h>

namespace warpsmith::sandbox {
namespace {

InfraKind kind(Blame blame, ErrorCode code) {
  return infra_of({blame, code, "text"}).kind;
}

TEST(FailureTest, AnErrorOfALowerLayerBlamesTheMachineOrTheDeadline) {
  EXPECT_EQ(Failure(Error{ErrorCode::timeout, "t"}).blame, Blame::deadline);
  EXPECT_EQ(Failure(Error{ErrorCode::peer_lost, "t"}).blame, Blame::machine);
  EXPECT_EQ(Failure(Error{ErrorCode::invalid_argument, "t"}).blame, Blame::machine);
}

TEST(FailureTest, BlameAndCodeGiveTheKindThatTheCallerGets) {
  EXPECT_EQ(kind(Blame::task, ErrorCode::timeout), InfraKind::task_refused);
  EXPECT_EQ(kind(Blame::task, ErrorCode::infrastructure), InfraKind::task_refused);
  EXPECT_EQ(kind(Blame::deadline, ErrorCode::timeout), InfraKind::deadline);
  EXPECT_EQ(kind(Blame::machine, ErrorCode::timeout), InfraKind::deadline);
  EXPECT_EQ(kind(Blame::machine, ErrorCode::unsupported), InfraKind::jail_unavailable);
  EXPECT_EQ(kind(Blame::machine, ErrorCode::disk_full), InfraKind::disk);
  EXPECT_EQ(kind(Blame::machine, ErrorCode::io_failed), InfraKind::disk);
  EXPECT_EQ(kind(Blame::machine, ErrorCode::process_failed), InfraKind::sandbox_lost);
  EXPECT_EQ(kind(Blame::machine, ErrorCode::infrastructure), InfraKind::reference_failed);
}

TEST(FailureTest, TheCallerOfAnIngestSeesARefusalAsAnInvalidArgument) {
  EXPECT_EQ(error_of({Blame::task, ErrorCode::timeout, "t"}).code, ErrorCode::invalid_argument);
  EXPECT_EQ(error_of({Blame::deadline, ErrorCode::timeout, "t"}).code, ErrorCode::timeout);
}

TEST(FailureTest, ATaskThatUsedUpItsTimeIsNotRefusedForWhatItIs) {
  EXPECT_TRUE(refusal("no Model").is_refusal());
  EXPECT_FALSE(Failure(Blame::task, ErrorCode::timeout, "slow").is_refusal());
  EXPECT_FALSE(Failure(Error{ErrorCode::invalid_argument, "t"}).is_refusal());
}

TEST(FailureTest, NamesTheTaskAndThePlace) {
  EXPECT_EQ(named(refusal("no Model"), {.id = "a", .source = "a.py"}).message, "a.py: no Model");
  EXPECT_EQ(named(refusal("no Model"), {.id = "a"}).message, "a: no Model");
  const Failure raised = refusal("forward raised KeyError (task.py, line 3, in forward)");
  EXPECT_EQ(named(raised, {.id = "a", .source = "ops/a.py"}).message,
            "ops/a.py: forward raised KeyError (a.py, line 3, in forward)");
  EXPECT_EQ(named(raised, {.id = "a", .source = "rows.jsonl:7"}).message,
            "rows.jsonl:7: forward raised KeyError (task.py, line 3, in forward)");
  EXPECT_EQ(fail("worker", refusal("no Model")).value().message, "worker: no Model");
}

}  // namespace
}  // namespace warpsmith::sandbox
