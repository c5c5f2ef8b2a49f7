// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/device_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <thread>

#include "runtime/text.hpp"

namespace warpsmith::sandbox {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds patience{2'000}, pause{10};

}  // namespace

std::optional<Fault> hog_fault(uint64_t free_before, uint64_t free_while_alive, uint64_t free_now) {
  const uint64_t held = free_now > free_while_alive ? free_now - free_while_alive : 0;
  if (held <= free_before / 2) return std::nullopt;
  return Fault{VerdictClass::out_of_memory,
               fmt::format("its process held {} of the {} of device memory that were free, and the "
                           "reference had no room",
                           size_text(held), size_text(free_before))};
}

std::optional<Fault> killed_as_hog(Contestant& candidate,
                                   const std::function<uint64_t()>& free_memory,
                                   uint64_t free_before, Deadline deadline) {
  const uint64_t while_alive = free_memory();
  (void)candidate.process().kill();
  const Deadline by = Deadline::after(std::min(deadline.left(), patience));
  auto fault = hog_fault(free_before, while_alive, free_memory());
  while (!fault && !by.passed()) {
    std::this_thread::sleep_for(pause);
    fault = hog_fault(free_before, while_alive, free_memory());
  }
  return fault;
}

}  // namespace warpsmith::sandbox
