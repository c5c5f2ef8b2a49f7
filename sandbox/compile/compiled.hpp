// SPDX-License-Identifier: Apache-2.0
// The result of compiling a submission: runs a compiler in its jail, and keeps results on disk.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "runtime/clock.hpp"
#include "runtime/result.hpp"
#include "runtime/submission.hpp"
#include "runtime/verdict.hpp"
#include "sandbox/jail/jail.hpp"

namespace warpsmith::sandbox {

/// A bounded content-addressed store of compile results on disk. Only the trusted side writes it.
/// Entries are files named by their key, each with its checksum. A damaged one is removed and
/// counts as absent. Several processes may share a folder.
class CompileCache {
 public:
  /// `max_bytes` 0: keeps nothing.
  static Result<CompileCache> open(const std::string& folder, int64_t max_bytes);

  /// `key`: 64 hexadecimal digits. A hit makes the entry the most recently used.
  std::optional<std::string> find(const std::string& key);
  /// Replaces the entry atomically, then removes the least recently used ones beyond the bound. If
  /// the disk is full, the entry is not kept.
  void insert(const std::string& key, const std::string& value);

  uint64_t bytes() const { return bytes_; }

 private:
  CompileCache(std::string folder, uint64_t max_bytes);
  void shrink();

  std::string folder_;
  uint64_t max_bytes_ = 0;
  uint64_t bytes_ = 0;     // when the folder was last listed, and inserted here since
  uint64_t unlisted_ = 0;  // inserted here since; other processes insert as much unseen
};

/// An artefact, or a failing verdict class with its text.
struct Compiled {
  std::optional<VerdictClass> failure;  // compile_error, banned_construct, timeout, out_of_memory
  std::string text;                     // for the agent: the first errors as FILE:line:col: …
  std::string artefact;                 // bytes of the shared object or cubin
  bool cached = false;                  // from the cache
  bool lasting = true;                  // another try would have the same result: may be cached
  double milliseconds = 0;
  std::map<std::string, std::string> jail;  // empty when cached
};

/// A result, or a `Compiled` with `failure` set.
template <class T>
using OrFailed = tl::expected<T, Compiled>;

Compiled failed_compiling(VerdictClass outcome, std::string text);

/// `process_failed` if something outside killed the compiler: another try may succeed.
Result<void> check_not_killed(const JailExit& exit);

/// The failure of a compiler that a limit ended, if one did. It had `patience`.
std::optional<Compiled> stopped_by_limit(const JailExit& exit, std::chrono::milliseconds patience);

/// The failure of a compiler that wrote a file of more than `most_bytes`, if it did.
std::optional<Compiled> too_large_a_file(const JailExit& exit, uint64_t most_bytes);

/// Runs a compiler in its jail for at most `patience`; `result_of` returns the result if it ends by
/// itself. Fails without a jail, if something outside killed the compiler, and if `deadline` comes
/// before the patience ends.
Result<Compiled> run_compiler(const JailSpec& spec, std::chrono::milliseconds patience,
                              Deadline deadline,
                              const std::function<Compiled(JailExit)>& result_of);

/// All files of a submission as one text, to be hashed.
std::string content_of(const FileSet& files);

/// The failure of `files` that lack `main` or have more than `most_bytes`; else nothing.
std::optional<Compiled> unfit_sources(const FileSet& files, const std::string& main,
                                      int64_t most_bytes);

/// The entry of `key` in the cache (`cached` is set), else the result of `fresh`, which is inserted
/// if it lasts. Calls `fresh` once more after `process_failed`.
Result<Compiled> compile_once(CompileCache& cache, const std::string& key,
                              const std::function<Result<Compiled>()>& fresh);

}  // namespace warpsmith::sandbox
