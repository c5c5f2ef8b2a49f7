// SPDX-License-Identifier: Apache-2.0
#include "sandbox/commit/control_page.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <ctime>

namespace warpsmith::sandbox {

uint32_t load_word(const uint32_t& word) {
  return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}

void store_word(uint32_t& word, uint32_t value) {
  __atomic_store_n(&word, value, __ATOMIC_RELEASE);
}

void wait_while(const uint32_t& word, uint32_t value,
                std::optional<std::chrono::nanoseconds> span) {
  timespec limit{};
  if (span) {
    limit.tv_sec = static_cast<time_t>(span->count() / 1'000'000'000);
    limit.tv_nsec = static_cast<long>(span->count() % 1'000'000'000);
  }
  (void)::syscall(SYS_futex, &word, FUTEX_WAIT, value, span ? &limit : nullptr, nullptr, 0);
}

void wake_one(uint32_t& word) {
  (void)::syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

}  // namespace warpsmith::sandbox
