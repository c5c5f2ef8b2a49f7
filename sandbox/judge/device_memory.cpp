// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/device_memory.hpp"

#include <algorithm>
#include <string>
#include <thread>

namespace warpsmith::sandbox {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds patience{2'000}, pause{10};

std::string mebibytes(uint64_t bytes) {
  return std::to_string(bytes >> 20U) + " MiB";
}

}  // namespace

std::optional<Fault> hog_fault(uint64_t free_before, uint64_t free_while_alive, uint64_t free_now) {
  const uint64_t held = free_now > free_while_alive ? free_now - free_while_alive : 0;
  if (held <= free_before / 2) return std::nullopt;
  return Fault{VerdictClass::out_of_memory,
               "its process held " + mebibytes(held) + " of the " + mebibytes(free_before) +
                   " of device memory that were free, and the reference had no room"};
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
