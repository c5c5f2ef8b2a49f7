// SPDX-License-Identifier: Apache-2.0
#include "sandbox/compile/nvrtc_pool.hpp"

#include <algorithm>

#include "runtime/codec.hpp"
#include "sandbox/compile/compiled.hpp"
#include "sandbox/jail/own_program.hpp"
#include "sandbox/jail/presets.hpp"

namespace warpsmith::sandbox {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds end_patience{200};  // for the end of a worker whose socket is closed

CudaSource warming(const NvrtcOptions& options) {
  return {{{"warm.cu", "extern \"C\" __global__ void warm(int* x) { *x = 1; }"}},
          "warm.cu",
          options.flags};
}

Result<JailSpec> worker_spec(const NvrtcOptions& options, int socket) {
  JailSpec spec = compile_jail();
  if (auto added = add_own_program(spec, options.program); !added) {
    return tl::unexpected(std::move(added.error()));
  }
  spec.argv = {own_program_path, "nvrtc"};
  spec.read_only.push_back({options.library_folder, nvrtc_folder});
  // It opens its own parts by name alone.
  std::string& search = spec.environment["LD_LIBRARY_PATH"];
  search = search.empty() ? nvrtc_folder : nvrtc_folder + (":" + search);
  for (size_t i = 0; i < options.includes.size(); ++i) {
    spec.read_only.push_back({options.includes[i], include_path(i)});
  }
  spec.descriptors = {{nvrtc_socket_fd, socket}};
  spec.limits = options.limits;
  spec.core = options.core;
  return spec;
}

}  // namespace

std::string include_path(size_t index) {
  return "/include" + std::to_string(index);
}

Result<NvrtcPool> NvrtcPool::open(NvrtcOptions options, Deadline deadline) {
  NvrtcPool pool{std::move(options)};
  if (auto started = pool.refill(); !started) return tl::unexpected(std::move(started.error()));
  auto first = pool.take(deadline);  // tells whether the toolkit works
  if (!first) return tl::unexpected(std::move(first.error()));
  return pool;
}

Result<NvrtcPool::Worker> NvrtcPool::start() const {
  auto ends = FrameSocket::pair();
  if (!ends) return tl::unexpected(ends.error());
  auto spec = worker_spec(options_, ends->second.fd());
  if (!spec) return tl::unexpected(spec.error());
  auto process = JailedProcess::start(*spec);
  if (!process) return fail("compile worker", process.error());
  Worker worker{std::move(*process), std::move(ends->first)};
  const auto own = Deadline::after(milliseconds{1000});  // a frame that fits the socket's buffer
  if (auto sent = worker.socket.send(codec::pack(warming(options_)), own); !sent) {
    return tl::unexpected(std::move(sent.error()));
  }
  return worker;
}

Result<void> NvrtcPool::refill() {
  while (waiting_.size() < std::max<size_t>(options_.ready, 1)) {
    auto worker = start();
    if (!worker) return tl::unexpected(std::move(worker.error()));
    waiting_.push_back(std::move(*worker));
  }
  return {};
}

/// The frame that a worker sends once it is warm. `process_failed` where it was killed meanwhile.
Result<ByteBuffer> NvrtcPool::greeting(Worker& worker, Deadline deadline) {
  auto frame = worker.socket.receive(deadline);
  if (frame) return frame;
  const JailExit exit = worker.process->kill();
  if (auto whole = unharmed(exit); !whole) return tl::unexpected(std::move(whole.error()));
  return fail("compile worker" + (exit.err.empty() ? "" : " (" + exit.err + ")"), frame.error());
}

/// A worker that is warm. It is taken from the front: the longest at it.
Result<NvrtcPool::Worker> NvrtcPool::take(Deadline deadline) {
  if (auto filled = refill(); !filled) return tl::unexpected(std::move(filled.error()));
  Worker worker = std::move(waiting_.front());
  waiting_.pop_front();
  auto frame = greeting(worker, deadline);
  if (!frame) return tl::unexpected(std::move(frame.error()));
  auto ready = codec::unpack<NvrtcReady>(*frame);
  if (!ready) return tl::unexpected(std::move(ready.error()));
  if (!ready->failure.empty()) {
    return fail(ErrorCode::unsupported, "nvrtc " + ready->version + ": " + ready->failure);
  }
  version_ = ready->version;
  if (auto filled = refill(); !filled) return tl::unexpected(std::move(filled.error()));
  return worker;
}

Result<NvrtcAnswer> NvrtcPool::compile(const CudaSource& source, milliseconds patience,
                                       Deadline deadline) {
  auto worker = take(deadline);
  if (!worker) return tl::unexpected(std::move(worker.error()));
  const Deadline own = Deadline::after(std::min(patience, deadline.left()));
  NvrtcAnswer answer;
  auto sent = worker->socket.send(codec::pack(source), own);
  auto frame = sent ? worker->socket.receive(own) : tl::unexpected(sent.error());
  answer.jail = worker->process->report();
  if (frame) {
    auto object = codec::unpack<CudaObject>(*frame);
    if (!object) return tl::unexpected(std::move(object.error()));
    answer.object = std::move(*object);
    return answer;
  }
  if (frame.error().code == ErrorCode::timeout) {
    if (deadline.passed()) return fail(ErrorCode::timeout, "compile: the caller's deadline passed");
    answer.exit = worker->process->kill();
    answer.exit.timed_out = true;
    return answer;
  }
  auto exit = worker->process->wait(Deadline::after(end_patience));
  if (!exit) return tl::unexpected(std::move(exit.error()));
  answer.exit = std::move(*exit);
  return answer;
}

}  // namespace warpsmith::sandbox
