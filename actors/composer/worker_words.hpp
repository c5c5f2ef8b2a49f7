// SPDX-License-Identifier: Apache-2.0
// The messages between a composer and its worker (synthesis/worker/serve.py), besides the records
// of candidates. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace warpsmith::actors {

/// Asks for the candidate of this number.
std::string number_message(uint64_t index);

/// The language model's answer.
std::string answer_message(const std::string& text);
/// There is none.
std::string failure_message(const std::string& why);

/// What the worker asks the run's own generator; empty: nothing.
std::optional<std::string> prompt_in(const std::string& message);

}  // namespace warpsmith::actors
