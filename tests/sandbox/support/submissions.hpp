// SPDX-License-Identifier: Apache-2.0
// The submissions: those of contracts `device` and `host` in folders of that name, those of `cpu`
// next to them. Each contract has honest solutions and hacks. A hack's `expect` has a line each for
// the task, the request, and the right verdicts (`software` and `gpu` if they differ); `needs gpu`
// if only a GPU can show it, `needs cgroups` if only cgroups can contain it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/bytes.hpp"
#include "runtime/run/durable_file.hpp"
#include "runtime/submission.hpp"
#include "runtime/task.hpp"
#include "sandbox/protocol/requests.hpp"

namespace warpsmith::sandbox::testing {

inline const std::filesystem::path hacks_folder = "tests/sandbox/hacks";

inline std::string text_of(const std::filesystem::path& path) {
  auto text = read_text_file(path, 1U << 20U);
  if (!text) throw std::runtime_error(text.error().message);
  return std::move(*text);
}

struct Expectation {
  std::string task;
  Request want = Request::verify;
  std::set<std::string> software, gpu;  // the right verdicts
  bool needs_gpu = false, needs_cgroups = false;
  bool no_faster_than_honest = false;
};

/// True if times decide its verdict: its test runs alone.
inline bool is_timed(const Expectation& expected) {
  return expected.want == Request::final;
}

/// Parses one line of `expect`.
inline void read_line(const std::string& key, const std::string& word, Expectation& into) {
  if (key == "task") {
    into.task = word;
  } else if (key == "want" && (word == "verify" || word == "final" || word == "explain")) {
    if (word == "final") into.want = Request::final;
    if (word == "explain") into.want = Request::explain;
  } else if (key == "verdict" || key == "software" || key == "gpu") {
    if (key != "gpu") into.software.insert(word);
    if (key != "software") into.gpu.insert(word);
  } else if (key == "needs" && word == "gpu") {
    into.needs_gpu = true;
  } else if (key == "needs" && word == "cgroups") {
    into.needs_cgroups = true;
  } else if (key == "note" && word == "no_faster_than_honest") {
    into.no_faster_than_honest = true;
  } else {
    throw std::runtime_error("expect: \"" + key + " " + word + "\" is not known");
  }
}

/// A task of this folder, in the evaluator's form.
inline Task task_with(std::string name, std::string code) {
  Task task{.id = std::move(name), .code = std::move(code)};
  task.content_hash = sha256_hex(task.code);
  return task;
}

inline Task hack_task(const std::string& name) {
  return task_with(name, text_of(hacks_folder / "tasks" / (name + ".py")));
}

/// centred_rows with hidden sizes: 301 rows.
inline Task ragged_task_of_hacks() {
  const Task task = hack_task("centred_rows");
  return task_with(
      task.id, task.code + "\n\ndef get_ragged_inputs():\n    return [torch.randn(301, 256)]\n");
}

/// The submissions for one contract.
class Submissions {
 public:
  explicit Submissions(const char* contract) : folder_(hacks_folder / contract) {}

  Expectation expectation(const std::string& hack) const {
    Expectation expectation;
    std::stringstream lines(text_of(folder_ / hack / "expect"));
    for (std::string line; std::getline(lines, line);) {
      std::stringstream words(line);
      std::string key, word;
      words >> key;
      while (words >> word) read_line(key, word, expectation);
    }
    if (expectation.task.empty() || expectation.software.empty() || expectation.gpu.empty()) {
      throw std::runtime_error(hack + ": task or verdict is missing");
    }
    return expectation;
  }

  /// The files of a hack, or of `honest/TASK`.
  FileSet files(const std::filesystem::path& name) const {
    FileSet files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_ / name)) {
      const std::string file = entry.path().lexically_relative(folder_ / name).string();
      if (entry.is_regular_file() && file != "expect") files[file] = text_of(entry.path());
    }
    return files;
  }
  FileSet honest(const std::string& task) const {
    return files(std::filesystem::path("honest") / task);
  }

  /// The names of hacks for which `wanted` holds, sorted.
  template <class Wanted>
  std::vector<std::string> hacks(const Wanted& wanted) const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      if (!std::filesystem::exists(entry.path() / "expect")) continue;
      const std::string name = entry.path().filename().string();
      if (wanted(expectation(name))) names.push_back(name);
    }
    std::ranges::sort(names);
    return names;
  }

 private:
  std::filesystem::path folder_;
};

inline const Submissions of_cpu{"."}, of_device{"device"}, of_host{"host"};

}  // namespace warpsmith::sandbox::testing
