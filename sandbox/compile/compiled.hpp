// SPDX-License-Identifier: Apache-2.0
// What compiling a submission gave, and a store of it.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "runtime/clock.hpp"
#include "runtime/result.hpp"
#include "runtime/submission.hpp"
#include "runtime/verdict.hpp"
#include "sandbox/compile/cache.hpp"
#include "sandbox/jail/jail.hpp"

namespace warpsmith::sandbox {

/// An artefact, or a failing class with its text.
struct Compiled {
  std::optional<VerdictClass> failure;  // compile_error, banned_construct, timeout, out_of_memory
  std::string text;                     // for the agent: first errors as FILE:line:col: …
  std::string artefact;                 // bytes of the shared object or cubin
  bool cached = false;                  // answered without compiling
  bool lasting = true;                  // another try would give the same: may be cached
  double milliseconds = 0;
  std::map<std::string, std::string> jail;  // empty when cached
};

/// What was asked for, or the failing class with its text: then `failure` is set.
template <class T>
using OrFailed = tl::expected<T, Compiled>;

Compiled failed_compiling(VerdictClass outcome, std::string text);

/// An error (`process_failed`) where something outside killed the compiler: another try may do.
Result<void> unharmed(const JailExit& exit);

/// The class of a compiler that a limit ended, if one did; it had `patience`.
std::optional<Compiled> stopped_by_limit(const JailExit& exit, std::chrono::milliseconds patience);

/// Of a compiler whose assembler or linker was ended by a file of more than `most_bytes`.
std::optional<Compiled> too_large_a_file(const JailExit& exit, uint64_t most_bytes);

/// Runs a compiler in its jail for at most `patience`; `judged` says what an end of its own gave.
/// An error is ours: there is no jail, something outside killed the compiler, or the caller's
/// deadline came first.
Result<Compiled> run_compiler(const JailSpec& spec, std::chrono::milliseconds patience,
                              Deadline deadline, const std::function<Compiled(JailExit)>& judged);

/// A submission as one text: the content that is addressed.
std::string content_of(const FileSet& files);

/// Why `files` are not compiled at all: `main` is missing, or they are too large; else nothing.
std::optional<Compiled> unfit_sources(const FileSet& files, const std::string& main,
                                      uint64_t most_bytes);

/// What the cache holds under `key` (then `cached` is set), else what `fresh` gives, which is kept
/// if it lasts. `fresh` is asked once more after `process_failed`.
Result<Compiled> compile_once(CompileCache& cache, const std::string& key,
                              const std::function<Result<Compiled>()>& fresh);

}  // namespace warpsmith::sandbox
