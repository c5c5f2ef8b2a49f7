// SPDX-License-Identifier: Apache-2.0
// Counters for the sandbox's Python processes: C functions that reference/worker/kernel_counters.py
// loads. Each returns null, or an error text that is valid until the next call. One session is open
// at a time, in the context that is current on the calling thread.
#include <fmt/format.h>

#include <exception>
#include <optional>

#include "runtime/cuda/counter_session.hpp"
#include "runtime/cuda/cupti.hpp"

namespace {

using warpsmith::fail;
using warpsmith::Result;
using warpsmith::cuda::CounterSession;

std::optional<CounterSession> session;
std::string reason;

Result<void> open_session(size_t kernels) {
  TRY(const auto cupti, warpsmith::cuda::load_cupti());
  TRY(auto opened, CounterSession::open(cupti, kernels));
  session.emplace(std::move(opened));
  return {};
}

Result<void> end_round(int& more) {
  TRY(const auto ended, session->end());
  more = ended ? 1 : 0;
  return {};
}

/// Writes the values in the order of kernel_counters.py.
Result<void> read_into(double* values, size_t kernels) {
  TRY(const auto all, session->read());
  if (all.size() != kernels) {
    return fail(warpsmith::ErrorCode::parse_failed,
                fmt::format("counters of {} kernels, expected {}", all.size(), kernels));
  }
  for (const auto& one : all) {
    for (const double value : {one.dram_read_bytes, one.dram_written_bytes, one.flops,
                               one.tensor_flops, one.warps_active}) {
      *values++ = value;
    }
  }
  return {};
}

template <class Work>
const char* answer(const Work& work) noexcept {
  try {
    const Result<void> done = work();
    reason = done ? "" : done.error().message;
  } catch (const std::exception& e) {
    reason = e.what();
  }
  return reason.empty() ? nullptr : reason.c_str();
}

template <class Work>
const char* answer_in_session(const Work& work) noexcept {
  return answer([&]() -> Result<void> {
    if (!session) return fail(warpsmith::ErrorCode::invalid_argument, "no session is open");
    return work();
  });
}

}  // namespace

extern "C" {

const char* warpsmith_counters_open(size_t kernels) {
  session.reset();
  return answer([&] { return open_session(kernels); });
}

const char* warpsmith_counters_begin() {
  return answer_in_session([] { return session->begin(); });
}

const char* warpsmith_counters_end(int* more) {
  return answer_in_session([&] { return end_round(*more); });
}

const char* warpsmith_counters_read(double* values, size_t kernels) {
  return answer_in_session([&] { return read_into(values, kernels); });
}

void warpsmith_counters_close() {
  session.reset();
}
}
