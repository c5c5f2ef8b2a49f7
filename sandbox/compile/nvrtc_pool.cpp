// SPDX-License-Identifier: Apache-2.0
#include "sandbox/compile/nvrtc_pool.hpp"

#include <algorithm>

#include "runtime/codec.hpp"
#include "sandbox/compile/compiled.hpp"
#include "sandbox/compile/precompiled_headers.hpp"
#include "sandbox/failure/time_limits.hpp"

namespace warpsmith::sandbox {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds end_timeout{200};  // for a worker to end after its socket closed
constexpr uint64_t precompiled_bytes = 1ULL << 30U;

}  // namespace

Result<NvrtcPool> NvrtcPool::open(NvrtcOptions options, Deadline deadline) {
  TRY(auto headers, PrecompiledHeaders::open(options, precompiled_bytes));
  NvrtcPool pool{std::move(options), std::move(headers)};
  TRY_VOID(pool.refill());
  TRY([[maybe_unused]] const auto first,
      pool.take(deadline));  // fails if the toolkit does not work
  return pool;
}

Result<void> NvrtcPool::refill() {
  while (waiting_.size() < std::max<size_t>(options_.ready, 1)) {
    TRY(auto worker, start_nvrtc(options_));
    waiting_.push_back(std::move(worker));
  }
  return {};
}

/// The frame that a worker sends once it is warm. `process_failed` if something outside killed it.
Result<ByteBuffer> NvrtcPool::await_ready(NvrtcProcess& worker, Deadline deadline) {
  auto frame = worker.socket.receive(deadline);
  if (frame) return frame;
  // The socket closes a moment before the process has ended.
  TRY(const auto exit, worker.process->wait(Deadline::after(end_timeout)));
  TRY_VOID(check_not_killed(exit));
  return fail("compile worker" + (exit.err.empty() ? "" : " (" + exit.err + ")"), frame.error());
}

/// The worker that waited longest, warm. Workers that ended while they waited are replaced.
Result<NvrtcProcess> NvrtcPool::take(Deadline deadline) {
  std::erase_if(waiting_, [](NvrtcProcess& one) { return one.process->finished(milliseconds{0}); });
  TRY_VOID(refill());
  NvrtcProcess worker = std::move(waiting_.front());
  waiting_.pop_front();
  TRY(auto frame, await_ready(worker, deadline));
  TRY(auto ready, codec::unpack<NvrtcReady>(frame));
  if (!ready.failure.empty()) {
    return fail(ErrorCode::unsupported, "nvrtc " + ready.version + ": " + ready.failure);
  }
  version_ = ready.version;
  TRY_VOID(refill());
  return worker;
}

Result<NvrtcAnswer> NvrtcPool::compile(const CudaSource& source, milliseconds patience,
                                       Deadline deadline) {
  headers_.poll();
  auto worker = take(deadline);
  if (!worker) return tl::unexpected(std::move(worker.error()));
  const std::string headers = leading_headers(source.files, source.main);
  const std::string option = headers_.option_for(headers);
  if (option.empty()) return compile_by(*worker, source, patience, deadline);
  CudaSource quicker = source;
  quicker.options.insert(quicker.options.end(), {option, "-pch-verbose=true"});
  auto answer = compile_by(*worker, quicker, patience, deadline);
  if (!answer || answer->exit.timed_out || answer->exit.killed_from_outside) return answer;
  if (answer->object) {
    headers_.note_use(headers, answer->object->log);
    return answer;
  }
  // The source or a damaged file crashed it: try without the file.
  headers_.remove(headers);
  worker = take(deadline);
  if (!worker) return tl::unexpected(std::move(worker.error()));
  return compile_by(*worker, source, patience, deadline);
}

Result<NvrtcAnswer> NvrtcPool::compile_by(NvrtcProcess& worker, const CudaSource& source,
                                          milliseconds patience, Deadline deadline) {
  const Patience limit{Blame::candidate, patience, deadline};
  NvrtcAnswer answer;
  auto sent = worker.socket.send(codec::pack(source), limit.by);
  auto frame = sent ? worker.socket.receive(limit.by) : tl::unexpected(sent.error());
  answer.jail = worker.process->report();
  if (frame) {
    TRY(auto object, codec::unpack<CudaObject>(*frame));
    answer.object = std::move(object);
    return answer;
  }
  if (frame.error().code == ErrorCode::timeout) {
    if (limit.blame == Blame::deadline) {
      return fail(ErrorCode::timeout, "compile: the caller's deadline passed");
    }
    answer.exit = worker.process->kill();
    answer.exit.timed_out = true;
    return answer;
  }
  TRY(auto exit, worker.process->wait(Deadline::after(end_timeout)));
  answer.exit = std::move(exit);
  return answer;
}

}  // namespace warpsmith::sandbox
