// SPDX-License-Identifier: Apache-2.0
// The ledger's disk becomes full: there is one clear message, nothing recorded is lost, and work
// continues once there is room. Each case runs in a child, whose limits and mounts end with it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <functional>

#include "actors/ledger/ledger_store.hpp"
#include "runtime/run/checkpoint.hpp"
#include "runtime/run/run_queries.hpp"
#include "tests/actors/ledger/ledger_support.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::actors {
namespace {

using namespace test_support;
using warpsmith::test_support::TemporaryFolder;

constexpr const char* unavailable = "skip: ";

/// Runs `body` in a child and returns its text; empty: no failure.
std::string in_child(const std::function<std::string()>& body) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    std::string text;
    try {
      text = body();
    } catch (const std::exception& e) {
      text = std::string("exception: ") + e.what();
    }
    (void)!::write(ends[1], text.data(), text.size());
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text;
  std::array<char, 512> piece{};
  for (ssize_t got = 0; (got = ::read(ends[0], piece.data(), piece.size())) > 0;) {
    text.append(piece.data(), static_cast<size_t>(got));
  }
  ::close(ends[0]);
  int status = 0;
  (void)::waitpid(child, &status, 0);
  return WIFEXITED(status) ? text : "the child died: " + text;
}

/// Closes trajectories until a request fails; `answered` counts the answered ones.
Error fill(LedgerStore& store, uint64_t& answered) {
  for (int i = 0; i < 100'000; ++i) {
    const auto id = store.admit(sample_task(), {1, 0});
    if (!id) return id.error();
    const auto segment = store.append(sample_segment(*id, 0));
    if (!segment) return segment.error();
    const auto closed = store.close(*id, sample_outcome(*id));
    if (!closed) return closed.error();
    answered = *id;
  }
  return {ErrorCode::timeout, "the disk never became full"};
}

std::string check_answered(LedgerStore& store, uint64_t answered) {
  if (!store.counts().is_conserved()) return "the conservation law is violated";
  for (TrajectoryId id = 1; id <= answered; ++id) {
    const auto trajectory = store.load(id);
    if (!trajectory) return trajectory.error().message;
    if (trajectory->segments.size() != 1) return "a segment is lost";
    if (!same_segment(trajectory->segments[0], sample_segment(id, 0))) return "a segment differs";
  }
  return "";
}

bool records_failure(LedgerStore& store, const Error& error) {
  const auto events = must(recent_events(store.database(), 1));
  return !events.empty() && events[0].kind == "write_failed" && events[0].text == error.message;
}

/// Fills up, checks, makes room, continues, opens again, checks again. `has_event`: the room of the
/// reserve can be used while the disk is full.
std::string run_full(const RunPaths& paths, bool has_event,
                     const std::function<void()>& make_room) {
  uint64_t answered = 0;
  {
    LedgerStore store = open_store(paths);
    must(store.begin(0));
    const Error error = fill(store, answered);
    if (error.code != ErrorCode::disk_full) return "wrong error: " + error.message;
    if (error.message.find(paths.folder.string()) == std::string::npos) {
      return "the message does not name the place: " + error.message;
    }
    if (answered == 0) return "nothing could be recorded at all";
    if (auto wrong = check_answered(store, answered); !wrong.empty()) return "full: " + wrong;
    if (has_event && !records_failure(store, error)) return "no event write_failed";
    make_room();
    const auto id = store.admit(sample_task(), {1, 0});
    if (!id) return "no recovery: " + id.error().message;
  }
  LedgerStore again = open_store(paths);
  return check_answered(again, answered);
}

void set_file_limit(rlim_t bytes) {
  rlimit limit{};
  (void)::getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = bytes;
  (void)::setrlimit(RLIMIT_FSIZE, &limit);
}

void write_proc(const char* path, const std::string& text) {
  const auto file = must(open_file(path, O_WRONLY));
  must(write_all(file, text, path));
}

/// Enters a mount namespace; without root rights, inside a new user namespace.
bool own_mounts() {
  if (::unshare(CLONE_NEWNS) == 0) return true;
  const std::string user = std::to_string(::getuid());
  const std::string group = std::to_string(::getgid());
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  write_proc("/proc/self/setgroups", "deny");
  write_proc("/proc/self/uid_map", "0 " + user + " 1");
  write_proc("/proc/self/gid_map", "0 " + group + " 1");
  return true;
}

/// Mounts a private tmpfs of `size` on `folder`; returns the reason if it cannot.
std::string mount_tmpfs(const std::string& folder, const char* size) {
  if (!own_mounts()) return "no mount namespace";
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return "no private mounts";
  if (::mount("tmpfs", folder.c_str(), "tmpfs", 0, size) != 0) return "no tmpfs";
  return "";
}

TEST(DiskFullTest, FileSizeLimitStopsTheLedgerWithoutLoss) {
  const TemporaryFolder folder;
  const std::string result = in_child([&] {
    (void)::signal(SIGXFSZ, SIG_IGN);
    const RunPaths paths = run_paths(folder.path());
    set_file_limit(192 << 10);
    return run_full(paths, false, [] { set_file_limit(RLIM_INFINITY); });
  });
  EXPECT_EQ(result, "");
}

TEST(DiskFullTest, FullFileSystemStopsTheLedgerWithoutLoss) {
  const TemporaryFolder folder;
  const std::string result = in_child([&]() -> std::string {
    if (auto why = mount_tmpfs(folder.path(), "size=640k"); !why.empty()) return unavailable + why;
    const RunPaths paths = run_paths(folder.path());
    const auto ballast = folder.path() / "ballast";
    must(write_file_durably(ballast, std::string(200 << 10, 'x')));
    return run_full(paths, true, [&] { std::filesystem::remove(ballast); });
  });
  if (result.rfind(unavailable, 0) == 0) GTEST_SKIP() << result;
  EXPECT_EQ(result, "");
}

/// Flushes groups of ten until one is lost; `flushed` is the newest trajectory of the others.
Error lose_a_group(LedgerStore& store, TrajectoryId& flushed) {
  for (int group = 0; group < 10'000; ++group) {
    Result<TrajectoryId> id = 0;
    for (int i = 0; i < 10 && id; ++i) {
      id = store.admit(sample_task(), {1, 0});
      if (id && !store.append(sample_segment(*id, 0))) break;
    }
    const auto durable = store.flush();
    if (!durable) return durable.error();
    if (!id) return {ErrorCode::infrastructure, "a request failed, but not its group"};
    flushed = *id;
  }
  return {ErrorCode::timeout, "the disk never became full"};
}

TEST(DiskFullTest, LostGroupIsReportedOnceAndUndoneAsAWhole) {
  const TemporaryFolder folder;
  const std::string result = in_child([&]() -> std::string {
    (void)::signal(SIGXFSZ, SIG_IGN);
    const RunPaths paths = run_paths(folder.path());
    set_file_limit(192 << 10);
    LedgerStore store = open_store(paths, {.durability = Durability::on_flush});
    must(store.begin(0));
    TrajectoryId flushed = 0;
    const Error error = lose_a_group(store, flushed);
    if (error.code != ErrorCode::disk_full) return "wrong error: " + error.message;
    if (store.pending()) return "the group is still pending";
    if (store.counts().admitted != flushed) return "a part of the lost group stayed";
    set_file_limit(RLIM_INFINITY);
    const auto next = must(store.admit(sample_task(), {1, 0}));
    must(store.flush());
    if (next != flushed + 1) return "ids of the lost group are not used again";
    return check_answered(store, flushed);
  });
  EXPECT_EQ(result, "");
}

TEST(DiskFullTest, CheckpointThatDoesNotFitLeavesTheEarlierOne) {
  const TemporaryFolder folder;
  const std::string result = in_child([&]() -> std::string {
    (void)::signal(SIGXFSZ, SIG_IGN);
    const auto store = must(CheckpointStore::open(folder.path()));
    const auto writer = [](size_t bytes) {
      return [bytes](const std::filesystem::path& into) {
        return write_file_durably(into / "model.safetensors", std::string(bytes, 'w'));
      };
    };
    must(store.write({1, 1}, writer(1000)));
    set_file_limit(100'000);
    const auto refused = store.write({1, 2}, writer(200'000));
    if (refused || refused.error().code != ErrorCode::disk_full) return "it was not refused";
    const auto search = must(store.newest());
    if (!search.found || search.found->manifest.version.step != 1) return "step 1 is lost";
    return search.complaints.empty() ? "" : search.complaints[0];
  });
  EXPECT_EQ(result, "");
}

}  // namespace
}  // namespace warpsmith::actors
