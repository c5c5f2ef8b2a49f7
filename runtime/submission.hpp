// SPDX-License-Identifier: Apache-2.0
// A candidate's submission: its files, frozen by their hash before anything is judged.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "runtime/bytes.hpp"
#include "runtime/describe.hpp"

namespace warpsmith {

/// File name (relative, no "..") → content.
using FileSet = std::map<std::string, std::string>;

/// The hash that identifies a submission: SHA-256 over names and contents, independent of the task.
inline std::string source_hash(const FileSet& files) {
  std::string bytes;
  for (const auto& [name, content] : files) {
    // Length prefixes separate names from contents, whatever bytes they contain.
    bytes.append(std::to_string(name.size())).append(" ").append(name);
    bytes.append(std::to_string(content.size())).append(" ").append(content);
  }
  return sha256_hex(bytes);
}

/// What the sandbox does with a submission.
enum class Request : uint8_t {
  compile,  // compile and inspect only
  verify,   // compile, then correctness
  profile,  // compile, verify, time; reports GB/s and GFLOP/s, and on a GPU the kernels that ran
  final,    // compile, verify, time against both baselines: the verdict that earns a reward
  explain,  // contract `device`: compile, and report what would be launched; runs nothing
};
/// True if the request runs a candidate that compiles.
constexpr bool runs(Request request) {
  return request != Request::compile && request != Request::explain;
}

struct Submission {
  std::string task_id;
  std::string contract = "cpu";
  FileSet files;

  WARPSMITH_RECORD(task_id, contract, files)
};

/// The best submission that a tool judged in an open trajectory, by the hash of its files.
struct BestSubmission {
  std::string hash;  // empty: none was correct
  double rank = 0;

  WARPSMITH_RECORD(hash, rank)
};

}  // namespace warpsmith
