// SPDX-License-Identifier: Apache-2.0
// A precompiled header with what kernels commonly include: <immintrin.h> alone costs 0.7 s of a
// compilation, with the precompiled header the whole takes 0.1 s.
#pragma once

#include <string>
#include <vector>

#include "runtime/clock.hpp"
#include "runtime/result.hpp"
#include "runtime/submission.hpp"
#include "sandbox/jail/jail.hpp"

namespace warpsmith::sandbox {

inline constexpr const char* prelude_file = "prelude.h";

/// The text behind the precompiled header.
extern const char* const prelude_text;

/// True if the sources include library headers, so that the prelude pays. It then comes first
/// (-include), since a precompiled header works only there.
bool wants_prelude(const FileSet& files);

/// Makes `prelude.h.gch` in the compile jail unless `folder` holds one for this toolchain; gives
/// its path. `command`: compiler and flags of a later compilation, without input and output.
Result<std::string> ready_prelude(const std::string& folder, const std::string& toolchain_hash,
                                  const std::vector<std::string>& command, Deadline deadline);

/// Puts the prelude where the compiler in the jail finds it.
void add_prelude(JailSpec& spec, const std::string& precompiled);

}  // namespace warpsmith::sandbox
