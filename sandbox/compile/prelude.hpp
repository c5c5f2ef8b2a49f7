// SPDX-License-Identifier: Apache-2.0
// A precompiled header of the headers that kernels commonly include. <immintrin.h> alone costs 0.7
// s of a compilation; with the precompiled header all of them take 0.1 s.
#pragma once

#include <string>
#include <vector>

#include "runtime/clock.hpp"
#include "runtime/result.hpp"
#include "runtime/submission.hpp"
#include "sandbox/jail/jail.hpp"

namespace warpsmith::sandbox {

inline constexpr const char* prelude_file = "prelude.h";

/// The text of prelude.h.
extern const char* const prelude_text;

/// True if the sources include library headers, so that the prelude saves time. It then comes first
/// (-include), where alone a precompiled header works.
bool wants_prelude(const FileSet& files);

struct PreludeOptions {
  std::string folder;  // of preludes, one for each toolchain
  std::string toolchain_hash;
  std::vector<std::string> command;  // compiler and flags of a later compilation, without files
  std::vector<int> cores;            // empty: the calling thread's
};

/// Makes `prelude.h.gch` in the compile jail unless the folder holds one; returns its path.
Result<std::string> ready_prelude(const PreludeOptions& options, Deadline deadline);

/// Shows the prelude to the compiler in the jail.
void add_prelude(JailSpec& spec, const std::string& precompiled);

}  // namespace warpsmith::sandbox
