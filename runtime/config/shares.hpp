// SPDX-License-Identifier: Apache-2.0
// Shares of tasks by their number of operators, in the form of `synth --shares`.
#pragma once

#include <optional>
#include <string>

namespace warpsmith {

/// What is wrong with "1=3.4,2=83.8,transformers=1.2", in the words of `synth --shares`; empty:
/// nothing. The text is parsed by synthesis/worker/arguments.py.
std::optional<std::string> complaint_about_shares(const std::string& text);

}  // namespace warpsmith
