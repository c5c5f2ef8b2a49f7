// SPDX-License-Identifier: Apache-2.0
// The program with a small configuration.
#pragma once

#include <csignal>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runtime/run/durable_file.hpp"
#include "runtime/run/run_listing.hpp"
#include "tests/commands/program_fixture.hpp"

namespace warpsmith::commands {

namespace fs = std::filesystem;
using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using test_support::TemporaryFolder;

/// One task, few trajectories and short turns: tests what the program does, not how well.
inline std::string configuration(const fs::path& folder) {
  const fs::path configs = fs::current_path() / "configs";
  const std::string task = (configs / "tasks/cpu/train/square_mean.py").string();
  return "[run]\nseed = 1\ntrajectories = 24\nfolder = \"" + (folder / "runs").string() +
         "\"\n[model]\nfolder = \"" + (configs / "policy/tiny").string() +
         "\"\n[agent]\nprompt = \"brief\"\nsyntax = \"xml\"\nchat_template = \"chatml\"\n"
         "max_turns = 2\nmax_tokens = 512\nresult_tokens = 64\n"
         "[rollout]\ncount = 1\nconcurrent = 4\n[generator]\nmax_new_tokens = 200\n"
         "[learner.step]\ntrajectories = 8\n[ledger]\ncheckpoint_steps = 1\n"
         "[synthesis]\ntasks = [\"" +
         task + "\"]\n";
}

inline testing::AssertionResult has_keys(const json& object, const std::vector<const char*>& keys) {
  for (const char* key : keys) {
    if (!object.contains(key)) {
      return testing::AssertionFailure() << "no " << key << " in " << object.dump();
    }
  }
  return testing::AssertionSuccess();
}

class ProgramTest : public ProgramFixture {
 protected:
  void SetUp() override {
    ProgramFixture::SetUp();
    std::ofstream{config()} << configuration(folder());
  }

  std::string config() const { return (folder() / "tiny.toml").string(); }
  fs::path runs() const { return folder() / "runs"; }

  /// The newest run's figures; nullopt while there is no run.
  std::optional<RunSummary> summary() const {
    const auto paths = find_run(runs(), "latest");
    if (!paths) return std::nullopt;
    auto read = read_summary(*paths);
    if (!read) return std::nullopt;
    return *read;
  }
  fs::path newest_run() const { return find_run(runs(), "latest").value().folder; }

  /// Waits until the run fulfils `condition`; fails if the child ends before, or at the deadline.
  testing::AssertionResult reaches(Child& child,
                                   const std::function<bool(const RunSummary&)>& condition) const {
    const Deadline deadline = Deadline::after(patience);
    while (!deadline.passed()) {
      const auto now = summary();
      if (now && condition(*now)) return testing::AssertionSuccess();
      if (child.finished(milliseconds{100})) break;
    }
    child.signal(SIGKILL);
    return testing::AssertionFailure() << child.wait(deadline).err;
  }
};

}  // namespace warpsmith::commands
