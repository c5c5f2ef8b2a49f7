// SPDX-License-Identifier: Apache-2.0
// The program as a child process, with its own cache and folder.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/environment.hpp"
#include "runtime/process/child.hpp"
#include "runtime/verdict.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::commands {

/// `--set` before each setting, after the arguments.
inline std::vector<std::string> with_settings(std::vector<std::string> arguments,
                                              const std::vector<std::string>& settings) {
  for (const std::string& setting : settings) arguments.insert(arguments.end(), {"--set", setting});
  return arguments;
}

/// `optimize`: a candidate was judged as often as is tried, and its times stayed unstable. Any
/// other missing verdict is a failure of a test.
inline bool lacks_stable_times(const ChildExit& end) {
  const auto count = [&end](const std::string& text) {
    int found = 0;
    for (size_t at = end.out.find(text); at != std::string::npos; at = end.out.find(text, at + 1)) {
      ++found;
    }
    return found;
  };
  const std::string missing = ": no verdict: ";
  const int noisy = count(missing + std::string(to_string(InfraKind::noise)));
  return end.exit_code == 3 && noisy > 0 && noisy == count(missing);
}

class ProgramFixture : public testing::Test {
 protected:
  void SetUp() override {
    std::error_code error;
    if (!std::filesystem::exists(python_interpreter(), error)) {
      GTEST_SKIP() << "no Python environment";
    }
    ::setenv("XDG_CACHE_HOME", WARPSMITH_TEST_CACHE, 1);
    ::setenv("WARPSMITH_PYTHON", python_interpreter().c_str(), 1);
  }

  static Child start_any(std::vector<std::string> argv) {
    ChildSpec spec;
    spec.argv = std::move(argv);
    auto child = Child::start(spec);
    if (!child) throw std::runtime_error(child.error().message);
    return std::move(*child);
  }
  /// Starts the program.
  static Child start(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), WARPSMITH_TEST_PROGRAM);
    return start_any(std::move(arguments));
  }
  static ChildExit run(std::vector<std::string> arguments) {
    return start(std::move(arguments)).wait(Deadline::after(patience));
  }

  const std::filesystem::path& folder() const { return folder_.path(); }
  /// Writes a file below `folder()`; its path.
  std::string file(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = folder() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream{path} << text;
    return path.string();
  }

  static constexpr std::chrono::minutes patience{6};  // includes the first ingest of a task

 private:
  test_support::TemporaryFolder folder_;
};

}  // namespace warpsmith::commands
