// SPDX-License-Identifier: Apache-2.0
// The submissions of contract `device` in this folder's `device/`: tasks, honest solutions, hacks.
// A hack's `expect` has a line each for the task, what is asked, and the verdicts that are right
// (`software` and `gpu` where they differ); `needs gpu` where only a GPU can show it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/checksum.hpp"
#include "runtime/run/durable_file.hpp"
#include "runtime/submission.hpp"
#include "runtime/task.hpp"
#include "sandbox/service/requests.hpp"

namespace warpsmith::sandbox::testing {

inline const std::filesystem::path device_hacks_folder = "tests/sandbox/hacks/device";

inline std::string text_of(const std::filesystem::path& path) {
  auto text = read_text_file(path, 1U << 20U);
  if (!text) throw std::runtime_error(text.error().message);
  return std::move(*text);
}

struct DeviceExpectation {
  std::string task;
  Request want = Request::verify;
  std::set<std::string> software, gpu;  // verdicts that are right
  bool needs_gpu = false;
  bool no_faster_than_honest = false;
};

/// One line of `expect`.
inline void read_line(const std::string& key, const std::string& word, DeviceExpectation& into) {
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
  } else if (key == "note" && word == "no_faster_than_honest") {
    into.no_faster_than_honest = true;
  } else {
    throw std::runtime_error("expect: \"" + key + " " + word + "\" means nothing");
  }
}

inline DeviceExpectation expectation_of(const std::string& hack) {
  DeviceExpectation expectation;
  std::stringstream lines(text_of(device_hacks_folder / hack / "expect"));
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

inline Task device_task(const std::string& name) {
  Task task{.id = name, .code = text_of(device_hacks_folder / "tasks" / (name + ".py"))};
  task.content_hash = sha256_hex(task.code);
  return task;
}

/// centred_rows with hidden sizes too: 301 rows.
inline Task ragged_device_task() {
  Task task = device_task("centred_rows");
  task.code += "\n\ndef get_ragged_inputs():\n    return [torch.randn(301, 256)]\n";
  task.content_hash = sha256_hex(task.code);
  return task;
}

/// Of a hack, or of `honest/TASK`.
inline FileSet device_files(const std::filesystem::path& name) {
  FileSet files;
  for (const char* file : {"kernels.cu", "plan.toml"}) {
    const auto path = device_hacks_folder / name / file;
    if (std::filesystem::exists(path)) files[file] = text_of(path);
  }
  return files;
}

inline FileSet honest_files(const std::string& task) {
  return device_files(std::filesystem::path("honest") / task);
}

/// Hacks for which `wanted` holds, by name.
template <class Wanted>
std::vector<std::string> device_hacks(const Wanted& wanted) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(device_hacks_folder)) {
    if (!std::filesystem::exists(entry.path() / "expect")) continue;
    const std::string name = entry.path().filename().string();
    if (wanted(expectation_of(name))) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace warpsmith::sandbox::testing
