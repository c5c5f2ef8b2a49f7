// SPDX-License-Identifier: Apache-2.0
// A jailed process: bubblewrap namespaces, a seccomp filter, limits; stopped, continued, reaped.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/clock.hpp"
#include "runtime/result.hpp"

namespace warpsmith::sandbox {

/// What a jail is for. It selects the seccomp filter.
enum class JailKind : uint8_t {
  run,      // a candidate's code: no new process or thread, an allow-list of system calls
  compile,  // the compiler on a candidate's source
  shell,    // commands of the agent over its workspace
  worker,   // our Python reference worker: runs task code, never a candidate's
  launch,   // our launcher: a candidate's kernels on a GPU, none of its host code
  host,     // a candidate's own Python process
};

struct JailLimits {
  uint64_t memory_bytes = 2ULL << 30U;  // cgroup where one is to be had, else RLIMIT_AS
  uint32_t processes = 64;              // tasks; `run` jails refuse them by seccomp anyway
  uint64_t file_bytes = 64ULL << 20U;   // largest file
  uint64_t tmp_bytes = 64ULL << 20U;    // size of the tmpfs on /tmp; 0: no /tmp
  uint32_t open_files = 64;
  std::chrono::seconds cpu{60};         // CPU time of each process
  uint64_t output_bytes = 1ULL << 20U;  // of standard output and of standard error, each
  bool cgroup_required = false;         // no jail where memory and tasks lack a cgroup's limit
};

/// Size of the tmpfs on /dev/shm of every jail but `run`, which has none.
inline constexpr uint64_t shm_bytes = 64ULL << 20U;

/// A path of the host and where it appears in the jail.
struct Bind {
  std::string host;
  std::string jail;
};

struct JailSpec {
  JailKind kind = JailKind::run;
  std::vector<std::string> argv;                   // argv[0]: a path inside the jail
  std::map<std::string, std::string> environment;  // all of it
  std::string directory = "/";                     // where it starts
  std::vector<Bind> read_only, read_write;
  std::vector<std::string> devices;          // nodes of the host, usable under the same path
  std::map<std::string, std::string> files;  // path in the jail → content, read-only
  std::map<int, int> descriptors;            // number in the jail → descriptor of ours
  std::string standard_input;                // at most 64 KiB
  bool capture_output = false;               // else standard output and error are discarded
  bool same_addresses = false;               // no random placement, if the kernel allows that
  JailLimits limits;
  std::optional<int> core;  // pins the process; −1: every core; none: as the calling thread
  std::map<std::string, std::string> known;  // what else the report is to say
};

/// How the jailed process ended.
struct JailExit {
  int exit_code = -1;  // −1 if a signal ended it
  int signal = 0;
  bool timed_out = false;
  bool out_of_memory = false;  // the cgroup killed it
  bool output_cut = false;
  // SIGKILL by neither us nor a limit: an operator, or a machine without memory. Never of kind
  // `host`, whose candidates may lower their own limits.
  bool killed_from_outside = false;
  bool never_began = false;  // bubblewrap could not make the jail: a failure of ours
  std::string out, err;      // captured, at most output_bytes each
};

/// One jail with its process. Start jails from one long-lived thread only: the kernel kills the
/// jail when the thread that spawned it ends. Destruction kills and reaps everything in it and
/// removes its cgroups.
class JailedProcess {
 public:
  static Result<std::unique_ptr<JailedProcess>> start(const JailSpec& spec);
  virtual ~JailedProcess() = default;

  /// As our pid namespace sees it.
  virtual pid_t pid() const = 0;
  virtual bool alive() = 0;
  /// Returns when every task of the process is confirmed stopped, or at the deadline.
  virtual Result<void> stop(Deadline deadline) = 0;
  virtual Result<void> resume() = 0;
  /// Collects output for at most `within`; true once the jail has ended (then call `wait`).
  virtual bool finished(std::chrono::milliseconds within) = 0;
  /// Waits for the end while collecting output; at the deadline kills it (`timed_out`).
  virtual Result<JailExit> wait(Deadline deadline) = 0;
  /// Kills all that runs in the jail and reaps it.
  virtual JailExit kill() = 0;
  /// Stops bubblewrap's monitor, which the kernel would wake at every stop and continue of the
  /// process, on its very core. `wait` and `kill` let it go on; a death signal reaches it anyway.
  virtual void park_monitor() = 0;
  /// Looks at the running process from outside: namespaces, capabilities, no_new_privs and filters
  /// as the kernel shows them go into `report`. Of `launch` and `host`: after their own filter.
  virtual Result<void> observe() = 0;
  /// Primitive → what is in force, for the verdict.
  virtual const std::map<std::string, std::string>& report() const = 0;
};

/// Runs a jail to its end. An error if it could not be made.
Result<JailExit> run_jailed(const JailSpec& spec, Deadline deadline);

/// Kills all jails of this process that have started, from any thread.
void kill_all_jails() noexcept;
/// For the end of the service in every case: from now on none starts, and those that were starting
/// have started (or failed) when it returns, so that `kill_all_jails` misses none.
void refuse_new_jails() noexcept;

/// What contract `cpu` (kind `run`), `device` (`launch`) or `host` needs for its full trust class
/// and the jail's report does not show in force: names of primitives, in alphabetical order. Pure.
std::vector<std::string> missing_primitives(const std::map<std::string, std::string>& report,
                                            JailKind kind = JailKind::run);
/// True if none is missing.
bool is_full_jail(const std::map<std::string, std::string>& report, JailKind kind = JailKind::run);

/// The Python worker's jail: `python` (an interpreter, possibly of a virtual environment) with the
/// system's libraries and compilers, read-only; a private /tmp that is its HOME. The caller adds
/// argv beyond the interpreter, descriptors and further binds.
JailSpec worker_jail(const std::string& python);

}  // namespace warpsmith::sandbox
