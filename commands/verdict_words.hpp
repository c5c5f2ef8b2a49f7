// SPDX-License-Identifier: Apache-2.0
// Words for verdicts and failures on the screen and in reports. JSON has the names of the classes.
// Pure.
#pragma once

#include <string>

#include "runtime/verdict.hpp"

namespace warpsmith::commands {

/// The verdict's class. A kernel on a CPU, which has no device, "crashed".
std::string class_words(const Verdict& verdict);

/// The failure's kind. A refused task is no failure of the machine.
std::string failure_words(InfraKind kind);

/// The first wrong element with its value and the expected one, and the likely factor or offset:
/// "y[3, 0] is 0.5, expected 1 (factor or offset 0.5)". For the operator's owner, who could compute
/// it from the seed in the evidence; agents in training read only the feedback. Empty if no outputs
/// were wrong.
std::string wrong_element_text(const std::string& evidence);

/// What the times of a contract mean for which `times_one_core` (slots.hpp) is true: a reader may
/// take them for those of the whole machine.
std::string one_core_text(const std::string& contract);

}  // namespace warpsmith::commands
