// SPDX-License-Identifier: Apache-2.0
// The parts of `bench faults`: processes in /proc, the processes of a service, bars.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <set>

#include "commands/bench/faults.hpp"
#include "commands/bench/service_processes.hpp"

namespace warpsmith::commands {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::Not;

ProcessSeen seen(pid_t pid, pid_t parent, std::vector<std::string> argv, char state = 'S') {
  return {.pid = pid, .parent = parent, .state = state, .argv = std::move(argv)};
}

TEST(ProcessTreeTest, ReadsNamesWithParentheses) {
  const auto process = parse_process(
      "42 (a) b) (c) T 7 42 42 0 -1 4194560 1 0 0 0 3 4 0 0 20 0 1 0 123456 2000 1 18446744");
  ASSERT_TRUE(process);
  EXPECT_EQ(process->pid, 42);
  EXPECT_EQ(process->parent, 7);
  EXPECT_EQ(process->state, 'T');
  EXPECT_EQ(process->started, 123456U);
  EXPECT_EQ(process->name, "a) b) (c");
  EXPECT_FALSE(parse_process("42 (cut"));
  EXPECT_FALSE(parse_process("42 (cut) S 7"));
  EXPECT_FALSE(parse_process(""));
}

TEST(ProcessTreeTest, FollowsGrandchildrenWhateverTheirNumbers) {
  const std::vector<ProcessSeen> all{seen(3, 9, {}), seen(9, 5, {}), seen(8, 1, {}),
                                     seen(5, 1, {})};
  std::set<pid_t> found;
  for (const ProcessSeen& one : below(5, all)) found.insert(one.pid);
  EXPECT_EQ(found, (std::set<pid_t>{3, 9}));
}

TEST(ProcessCensusTest, FindsAZombieAndForgetsReapedProcesses) {
  const pid_t child = ::fork();
  if (child == 0) {
    (void)::pause();
    ::_exit(0);
  }
  ProcessCensus census;
  census.add_descendants(::getpid());
  EXPECT_THAT(census.remaining(), Contains(Field(&ProcessSeen::pid, child)));
  (void)::kill(child, SIGKILL);
  siginfo_t ended;
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_THAT(census.remaining(), Contains(testing::AllOf(Field(&ProcessSeen::pid, child),
                                                          Field(&ProcessSeen::state, 'Z'))));
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_THAT(census.remaining(), Not(Contains(Field(&ProcessSeen::pid, child))));
}

TEST(ProcessKillerTest, DistinguishesTheProcessesOfAService) {
  const std::vector<ProcessSeen> service{
      seen(20, 10, {"/usr/bin/bwrap", "--unshare-user", "/runner", "runner"}),
      seen(21, 20, {"/runner", "runner"}),
      seen(30, 10, {"/usr/bin/bwrap", "/venv/bin/python"}),
      seen(31, 30, {"/venv/bin/python", "worker.py"}),
      seen(32, 31, {"/venv/bin/python", "compile_worker.py"}),
      seen(40, 10, {"/usr/bin/bwrap", "/bin/sh"}),
      seen(41, 40, {"/bin/sh", "-c"}),
      seen(42, 41, {"/usr/bin/g++"})};
  EXPECT_EQ(find_process(service, SlotProcess::candidate, 10), 21);
  EXPECT_EQ(find_process(service, SlotProcess::reference_worker, 10), 31);
  EXPECT_EQ(find_process(service, SlotProcess::compiler, 10), 41);
  EXPECT_EQ(find_process(service, SlotProcess::service, 10), 10);
  EXPECT_EQ(find_process({}, SlotProcess::candidate, 10), std::nullopt);
  EXPECT_EQ(find_process({seen(20, 10, {"bwrap"}), seen(21, 20, {"/runner", "launcher"}, 'Z')},
                         SlotProcess::candidate, 10),
            std::nullopt);
}

TEST(ProcessKillerTest, KillsNothingIfThereIsNoSuchProcess) {
  ProcessCensus census;
  ProcessKiller killer(::getpid(), SlotProcess::candidate, std::chrono::microseconds{0}, census);
  EXPECT_FALSE(killer.finish());
}

TEST(FaultKindsTest, EachHasANameAndEitherASubmissionOrAProcess) {
  for (const char* contract : {"cpu", "device"}) {
    std::set<std::string> names;
    for (const FaultKind& kind : fault_kinds(contract)) {
      EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
      EXPECT_EQ(kind.kills.has_value(), kind.files.empty()) << kind.name;
      EXPECT_EQ(kind.kills.has_value(), kind.expected.empty()) << kind.name;
      EXPECT_EQ(kind.expected.contains(VerdictClass::passed), kind.name == "slow") << kind.name;
    }
    for (const char* piece :
         {"kill_candidate", "kill_reference_worker", "kill_compiler", "kill_service"}) {
      EXPECT_TRUE(names.contains(piece)) << contract;
    }
  }
}

Verdict passed_with(const std::string& sets) {
  return {.outcome = VerdictClass::passed, .evidence = R"({"sets": [)" + sets + "]}"};
}

TEST(FaultFiguresTest, APassIsComparedSetBySetInAnyOrder) {
  const std::string wide = R"({"distribution": "wide", "wrong": 0, "elements": 8})";
  const std::string dense = R"({"distribution": "dense", "wrong": 0, "elements": 8})";
  const JudgedOutcome one = judged(passed_with(wide + "," + dense));
  EXPECT_THAT(one.sets,
              ElementsAre("dense: 0 wrong, 0 not finite of 8", "wide: 0 wrong, 0 not finite of 8"));
  EXPECT_TRUE(one.same_as(judged(passed_with(dense + "," + wide))));
  EXPECT_FALSE(one.same_as(judged(passed_with(wide))));
  EXPECT_FALSE(one.same_as(judged(Verdict{.outcome = VerdictClass::wrong})));
  const JudgedOutcome lost = judged(InfraFailure{InfraKind::sandbox_lost, "gone"});
  EXPECT_EQ(lost.outcome, "infra_sandbox_lost");
  EXPECT_EQ(lost.text, "gone");
}

TEST(FaultFiguresTest, EveryBarCounts) {
  FaultFigures good;
  good.honest = good.honest_equal = 3;
  good.killed = good.killed_equal = 1;
  good.kinds["hang"] = {.count = 2};
  good.leftovers.free_bytes_before = 100ULL << 20U;
  good.leftovers.free_bytes_after = 90ULL << 20U;
  EXPECT_TRUE(good.meets_bars());
  EXPECT_EQ(good.faults(), 2);
  const auto fails = [&](const auto& spoil) {
    FaultFigures figures = good;
    spoil(figures);
    return !figures.meets_bars();
  };
  EXPECT_TRUE(fails([](FaultFigures& f) { f.honest_equal = 2; }));
  EXPECT_TRUE(fails([](FaultFigures& f) { f.killed_equal = 0; }));
  EXPECT_TRUE(fails([](FaultFigures& f) { f.kinds["hang"].unexpected = 1; }));
  EXPECT_TRUE(fails([](FaultFigures& f) { f.leftovers.zombies = {"7 bwrap (Z)"}; }));
  EXPECT_TRUE(fails([](FaultFigures& f) { f.leftovers.processes = {"7 bwrap (S)"}; }));
  EXPECT_TRUE(fails([](FaultFigures& f) { f.leftovers.groups = {"/sys/fs/cgroup/x"}; }));
  EXPECT_TRUE(fails([](FaultFigures& f) { f.leftovers.files = {"tmp-1-1"}; }));
  EXPECT_TRUE(fails([](FaultFigures& f) { f.leftovers.free_bytes_after = 1; }));
}

}  // namespace
}  // namespace warpsmith::commands
