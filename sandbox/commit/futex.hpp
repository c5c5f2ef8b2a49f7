// SPDX-License-Identifier: Apache-2.0
// Futexes on words that processes share.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace warpsmith::sandbox {

/// Acquire load of a shared word.
uint32_t load_word(const uint32_t& word);
/// Release store to a shared word.
void store_word(uint32_t& word, uint32_t value);

/// Sleeps while `word` holds `value`, for at most `span`; may return early. Only a contestant,
/// which the verifier can kill, may pass no span.
void wait_while(const uint32_t& word, uint32_t value, std::optional<std::chrono::nanoseconds> span);
/// Wakes one sleeper.
void wake_one(uint32_t& word);

}  // namespace warpsmith::sandbox
