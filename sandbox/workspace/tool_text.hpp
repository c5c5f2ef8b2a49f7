// SPDX-License-Identifier: Apache-2.0
// What the agent reads as a tool's result: a command's output, a verdict, and the cut of long
// texts. Pure.
#pragma once

#include <string>
#include <string_view>

#include "runtime/submission.hpp"
#include "runtime/verdict.hpp"
#include "sandbox/protocol/requests.hpp"

namespace warpsmith::sandbox {

/// Cuts long results in the middle, because head and tail matter most. Returns `text` if it has at
/// most `max_bytes`. Otherwise its head and tail, cut between characters (between lines where one
/// ends nearby), around a line with the number of bytes left out. The result is at most `max_bytes`
/// plus that line.
std::string truncate_result(std::string_view text, size_t max_bytes);

/// Output, then errors; empty if there is neither.
std::string output_text(const ShellResult& result);
/// The same, and how the command ended unless with 0; "(no output)" for nothing.
std::string shell_text(const ShellResult& result);

/// The agent's text for a verdict: "compiled" after a successful compilation, else the feedback.
std::string verdict_text(Request request, const Verdict& verdict);

}  // namespace warpsmith::sandbox
