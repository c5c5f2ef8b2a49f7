// SPDX-License-Identifier: Apache-2.0
// Jailed NVRTC processes that wait, warm, for one source each.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/clock.hpp"
#include "runtime/process/frame_socket.hpp"
#include "runtime/result.hpp"
#include "sandbox/compile/nvrtc_worker.hpp"
#include "sandbox/jail/jail.hpp"

namespace warpsmith::sandbox {

struct NvrtcOptions {
  std::string program;                // warpsmith-sandbox
  std::string library_folder;         // holds libnvrtc.so.*
  std::vector<std::string> includes;  // folders of the toolkit's headers
  std::vector<std::string> flags;     // of every source
  JailLimits limits;
  std::optional<int> core;
  size_t ready = 1;  // workers that wait
};

/// One source compiled: the object, or how its worker ended instead of answering.
struct NvrtcAnswer {
  std::optional<CudaObject> object;
  JailExit exit;  // if there is no object
  std::map<std::string, std::string> jail;
};

/// Folders of headers appear in the jail, and in options, as /include0, /include1, …
std::string include_path(size_t index);

/// Not thread-safe; jails belong to the calling thread.
class NvrtcPool {
 public:
  /// Starts the workers and waits for the first: a toolkit that does not work is told here.
  static Result<NvrtcPool> open(NvrtcOptions options, Deadline deadline);

  /// `source.options` are ours already. A worker that crashes, hangs beyond `patience` or asks for
  /// too much memory is replaced; what it did is part of the answer.
  Result<NvrtcAnswer> compile(const CudaSource& source, std::chrono::milliseconds patience,
                              Deadline deadline);

  /// e.g. "13.0"
  const std::string& version() const { return version_; }

 private:
  struct Worker {
    std::unique_ptr<JailedProcess> process;
    FrameSocket socket;
  };
  explicit NvrtcPool(NvrtcOptions options) : options_(std::move(options)) {}
  Result<void> refill();
  Result<Worker> start() const;
  Result<Worker> take(Deadline deadline);
  static Result<ByteBuffer> greeting(Worker& worker, Deadline deadline);

  NvrtcOptions options_;
  std::deque<Worker> waiting_;
  std::string version_;
};

}  // namespace warpsmith::sandbox
