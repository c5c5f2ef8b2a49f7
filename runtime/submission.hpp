// SPDX-License-Identifier: Apache-2.0
// What a candidate hands in: files, frozen by their hash before anything is judged.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace warpsmith {

/// File name (relative, no "..") → content.
using FileSet = std::map<std::string, std::string>;

/// What the sandbox is asked to do with a submission.
enum class Request : uint8_t {
  compile,  // compile and inspect only
  verify,   // compile, then correctness
  profile,  // compile, correctness, times with achieved GB/s and GFLOP/s; on a GPU what ran there
  final,    // everything, timed against both baselines: the verdict that earns a reward
  explain,  // contract `device`: compile, and say what would be launched; runs nothing
};
/// Whether a candidate that compiles is run for it.
constexpr bool runs(Request request) {
  return request != Request::compile && request != Request::explain;
}

struct Submission {
  std::string task_id;
  std::string contract = "cpu";
  FileSet files;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(task_id, contract, files);
  }
};

}  // namespace warpsmith
