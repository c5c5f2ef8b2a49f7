// SPDX-License-Identifier: Apache-2.0
// A jailed process: bubblewrap's namespaces, a seccomp filter and limits.
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
#include "runtime/process/child.hpp"
#include "runtime/result.hpp"

namespace warpsmith::sandbox {

/// What a jail is for. It selects the seccomp filter.
enum class JailKind : uint8_t {
  run,      // a candidate's code: no new process or thread, an allow-list of system calls
  compile,  // the compiler on a candidate's source
  shell,    // commands of the agent over its workspace
  worker,   // the Python reference worker: runs task code, never a candidate's
  launch,   // the launcher: a candidate's kernels on a GPU, none of its host code
  host,     // a candidate's own Python process (contract `host`)
};

struct JailLimits {
  uint64_t memory_bytes = 2ULL << 30U;  // by cgroup if there is one, else RLIMIT_AS
  uint32_t processes = 64;              // tasks; `run` jails refuse them by seccomp anyway
  uint64_t file_bytes = 64ULL << 20U;   // largest file
  uint64_t tmp_bytes = 64ULL << 20U;    // size of the tmpfs on /tmp; 0: no /tmp
  uint32_t open_files = 64;
  std::chrono::seconds cpu{60};         // CPU time of each process
  uint64_t output_bytes = 1ULL << 20U;  // of standard output and of standard error, each
  bool cgroup_required = false;         // start fails unless a cgroup limits memory and tasks
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
  std::vector<std::string> argv;                   // argv[0]: a path in the jail
  std::map<std::string, std::string> environment;  // all of it
  std::string directory = "/";                     // the working directory
  std::vector<Bind> read_only, read_write;
  std::vector<std::string> devices;          // device nodes, under their own path
  std::map<std::string, std::string> files;  // path in the jail → content, read-only
  std::map<std::string, std::string> links;  // path in the jail → what it names
  std::map<int, int> descriptors;            // number in the jail → this process's descriptor
  std::string standard_input;                // at most 64 KiB
  bool capture_output = false;               // else they are discarded
  bool fixed_addresses = false;              // no address randomisation, if the kernel allows that
  JailLimits limits;
  std::chrono::milliseconds start_timeout{10'000};  // until bubblewrap has begun
  std::vector<int> cores;                           // it runs on these; empty: the calling thread's
  std::map<std::string, std::string> known;         // further entries of the report
};

/// The cores of a jail that shares a slot's core; those of the calling thread if there is none.
inline std::vector<int> pinned_to(std::optional<int> core) {
  return core ? std::vector<int>{*core} : std::vector<int>{};
}

/// How the jailed process ended.
struct JailExit {
  int exit_code = -1;  // −1 if a signal ended it
  int signal = 0;
  bool timed_out = false;
  bool out_of_memory = false;  // the cgroup killed it
  bool output_cut = false;
  // SIGKILL that neither this program nor a limit sent: by an operator, or for lack of memory.
  // Always false for kind `host`, whose candidates can lower their own limits.
  bool killed_from_outside = false;
  bool never_began = false;  // bubblewrap could not make the jail
  std::string out, err;      // captured, at most output_bytes each
};

/// One jail with its process. Start jails from one long-lived thread only: the kernel kills a jail
/// when the thread that started it ends. The destructor kills and reaps everything in it and
/// removes its cgroups.
class JailedProcess {
 public:
  static Result<std::unique_ptr<JailedProcess>> start(const JailSpec& spec);
  virtual ~JailedProcess() = default;

  /// The process's number outside the jail.
  virtual pid_t pid() const = 0;
  virtual bool alive() = 0;
  /// Returns once every task of the process is stopped; `timeout` at the deadline.
  virtual Result<void> stop(Deadline deadline) = 0;
  virtual Result<void> resume() = 0;
  /// Stops every process in the jail, and those that they start meanwhile; `timeout` at the
  /// deadline.
  virtual Result<void> stop_all(Deadline deadline) = 0;
  virtual void resume_all() = 0;
  /// The output that was collected since the last call. `wait` and `kill` return the rest.
  virtual ChildText take_output() = 0;
  /// Collects output for at most `within`. True once the jail has ended; then call `wait`.
  virtual bool finished(std::chrono::milliseconds within) = 0;
  /// Collects output until the jail ends; kills it at the deadline (`timed_out`).
  virtual Result<JailExit> wait(Deadline deadline) = 0;
  /// Kills and reaps everything in the jail.
  virtual JailExit kill() = 0;
  /// Stops bubblewrap's monitor. The kernel would wake it at every stop and continue of the
  /// process, on the same core. `wait` and `kill` continue it.
  virtual void park_monitor() = 0;
  /// Adds to `report` the namespaces, capabilities, no_new_privs and filters of the running
  /// process, as the kernel shows them. Kinds `launch` and `host`: call it after they add their own
  /// filter.
  virtual Result<void> observe() = 0;
  /// Primitive → what is in force.
  virtual const std::map<std::string, std::string>& report() const = 0;
};

/// Runs a jail to its end. Fails if it could not be made.
Result<JailExit> run_jailed(const JailSpec& spec, Deadline deadline);

/// Kills every jail of this process that has started. For any thread.
void kill_all_jails() noexcept;
/// From now on no jail starts. When it returns, every start in flight has ended, so a
/// `kill_all_jails` after it misses none.
void refuse_new_jails() noexcept;

/// The primitives that the full trust class of contract `cpu` (kind `run`), `device` (`launch`) or
/// `host` requires and the report does not show in force, in alphabetical order. Pure.
std::vector<std::string> missing_primitives(const std::map<std::string, std::string>& report,
                                            JailKind kind = JailKind::run);
/// True if no primitive is missing.
bool is_full_jail(const std::map<std::string, std::string>& report, JailKind kind = JailKind::run);

}  // namespace warpsmith::sandbox
