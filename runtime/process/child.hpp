// SPDX-License-Identifier: Apache-2.0
// Child processes with a deadline, bounded output and guaranteed reaping (Boost.Process inside).
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

/// One `setrlimit`: the resource (RLIMIT_…) and the value for its soft and its hard limit.
struct ResourceLimit {
  int resource = 0;
  uint64_t value = 0;
};

/// Where a child's standard output and error go; `shared`: to those of this process.
enum class ChildOutput : uint8_t { captured, discarded, shared };

struct ChildSpec {
  std::vector<std::string> argv;  // argv[0] is a path, or a name to look up in PATH
  std::optional<std::map<std::string, std::string>> environment;  // inherited if not set
  std::string directory;                                          // inherited if empty
  std::string standard_input;
  ChildOutput output = ChildOutput::captured;
  size_t output_bytes = 1U << 20U;    // kept of each stream; the rest is read and dropped
  std::map<int, int> descriptors;     // number in the child (3 to 63) → descriptor here
  std::vector<ResourceLimit> limits;  // set before exec
  std::vector<int> join;              // open cgroup files; the child writes "0" to each before exec
  std::vector<int> cores;             // runs only on these; empty: on the calling thread's
  bool die_with_thread = false;       // SIGKILL when the spawning thread ends
  bool own_group = false;        // in a separate process group: gets no signals sent to this one's
  bool fixed_addresses = false;  // without address-space randomisation, if the kernel allows it
  std::chrono::milliseconds start_timeout{
      30'000};  // until its program runs: a cgroup may be frozen
};

struct ChildExit {
  int exit_code = -1;  // −1 if a signal ended the child
  int signal = 0;
  bool timed_out = false;
  bool output_cut = false;
  std::chrono::microseconds cpu{0};  // time of the child and of all children that it reaped
  std::string out, err;
};

/// What a child wrote.
struct ChildText {
  std::string out, err;
  bool cut = false;  // some of it was dropped
};

/// A running child. Destruction kills and reaps it.
class Child {
 public:
  /// Fails if the program cannot be executed, or does not run within `start_timeout`.
  static Result<Child> start(const ChildSpec& spec);

  pid_t pid() const;
  /// Reads what has arrived, without waiting; returns false once the child has ended and is reaped.
  bool alive();
  /// Collects output for at most `within`; returns true once the child has ended.
  bool finished(std::chrono::milliseconds within);
  /// Returns the output collected since the last call. The child may then write `output_bytes` more
  /// of each stream; its exit contains the output that no call has returned.
  ChildText take_output();
  /// Collects output until the child ends; kills it at the deadline.
  ChildExit wait(Deadline deadline);
  /// Sends a signal. `alive` may still return true right after: `wait` reaps.
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

/// The path of a program in PATH; empty if it is not there.
std::string find_program(const std::string& name);

}  // namespace warpsmith
