// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runtime/submission.hpp"
#include "runtime/verdict.hpp"

namespace warpsmith::sandbox {

/// The agent's text for a verdict: "compiled" after a successful compilation, else the feedback.
std::string verdict_text(Request request, const Verdict& verdict);

}  // namespace warpsmith::sandbox
