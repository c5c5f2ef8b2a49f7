// SPDX-License-Identifier: Apache-2.0
// Looks at a compiled shared object without loading it. Pure. A pre-filter that produces early and
// clear messages; the protection is the jail.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/result.hpp"
#include "runtime/verdict.hpp"

namespace warpsmith::sandbox {

struct ArtefactFacts {
  std::vector<std::string> exports;  // defined dynamic symbols
  std::vector<std::string> imports;  // undefined dynamic symbols
  std::vector<std::string> needed;   // libraries
  uint64_t constructors = 0;         // entries of .preinit_array, .init_array, .fini_array
  bool initialiser = false;          // DT_INIT or DT_FINI, which the judge's link never makes
  bool indirect_functions = false;   // STT_GNU_IFUNC: code that runs while loading
  bool text_relocations = false;
};

/// Every offset and count is checked against the bytes; anything but an x86-64 (or AArch64) shared
/// object is `parse_failed` with the place.
Result<ArtefactFacts> read_artefact(std::string_view elf);

/// The failing class and its text for an artefact that lacks `entry_point` or contains forbidden
/// code.
struct Objection {
  VerdictClass outcome = VerdictClass::banned_construct;
  std::string text;
};
std::optional<Objection> objection_to(const ArtefactFacts& facts, const std::string& entry_point);

}  // namespace warpsmith::sandbox
