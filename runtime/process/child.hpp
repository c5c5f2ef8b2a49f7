// SPDX-License-Identifier: Apache-2.0
// A child process with a deadline, bounded output and guaranteed reaping (Boost.Process inside).
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

namespace warpsmith {

/// One `setrlimit`: resource (RLIMIT_…) and the value of both its limits.
struct ResourceLimit {
  int resource = 0;
  uint64_t value = 0;
};

/// Where a child's standard output and error go.
enum class ChildOutput : uint8_t { captured, discarded, shared };  // shared: ours

struct ChildSpec {
  std::vector<std::string> argv;  // argv[0]: a path, or a name to be found in PATH
  std::optional<std::map<std::string, std::string>> environment;  // none: ours
  std::string directory;                                          // empty: ours
  std::string standard_input;
  ChildOutput output = ChildOutput::captured;
  size_t output_bytes = 1U << 20U;    // kept of each; what comes beyond is read and dropped
  std::map<int, int> descriptors;     // number in the child (3 to 63) → descriptor of ours
  std::vector<ResourceLimit> limits;  // set before exec
  std::vector<int> join;              // descriptors of cgroups' files: "0" is written, before exec
  std::optional<int> core;            // pin to one core; −1: every core
  bool die_with_thread = false;       // SIGKILL when the spawning thread ends
  bool own_group = false;             // of processes: no signal to our group reaches it
  bool same_addresses = false;        // no random placement of memory, if the kernel allows that
  std::chrono::milliseconds start_within{30'000};  // until its program runs: a cgroup may be frozen
};

struct ChildExit {
  int exit_code = -1;  // −1 if a signal ended it
  int signal = 0;
  bool timed_out = false;
  bool output_cut = false;
  std::chrono::microseconds cpu{0};  // of the child and of all that it reaped
  std::string out, err;
};

/// Destruction kills the child and reaps it.
class Child {
 public:
  /// Fails when the program cannot be executed, or not in time.
  static Result<Child> start(const ChildSpec& spec);

  pid_t pid() const;
  /// Reads what is there without waiting; false once it has ended (and then it is reaped).
  bool alive();
  /// Collects output for at most `within`; true once it has ended.
  bool finished(std::chrono::milliseconds within);
  /// Collects output until the end; at the deadline kills the child.
  ChildExit wait(Deadline deadline);
  /// `alive` may still be true right after: `wait` reaps.
  void signal(int number);

  Child(Child&&) noexcept;
  Child& operator=(Child&&) noexcept;
  ~Child();

 private:
  struct State;
  explicit Child(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Runs a child to its end.
Result<ChildExit> run_child(const ChildSpec& spec, Deadline deadline);

/// The path of a program in PATH; empty if there is none.
std::string find_program(const std::string& name);

}  // namespace warpsmith
