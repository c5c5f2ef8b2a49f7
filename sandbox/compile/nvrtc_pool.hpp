// SPDX-License-Identifier: Apache-2.0
// Jailed NVRTC processes that are kept warm, each for one source.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>

#include "runtime/clock.hpp"
#include "runtime/result.hpp"
#include "sandbox/compile/nvrtc.hpp"
#include "sandbox/compile/precompiled_headers.hpp"

namespace warpsmith::sandbox {

/// One source compiled: the object, or how its worker ended instead of answering.
struct NvrtcAnswer {
  std::optional<CudaObject> object;
  JailExit exit;  // if there is no object
  std::map<std::string, std::string> jail;
};

/// Not thread-safe; jails belong to the calling thread.
class NvrtcPool {
 public:
  /// Starts the workers and waits for the first. Fails if the toolkit does not work.
  static Result<NvrtcPool> open(NvrtcOptions options, Deadline deadline);

  /// `source.options` is complete. Headers that many sources begin with are precompiled. A worker
  /// that crashes, hangs beyond `patience` or exceeds its memory is replaced; the answer says how
  /// it ended.
  Result<NvrtcAnswer> compile(const CudaSource& source, std::chrono::milliseconds patience,
                              Deadline deadline);

  /// e.g. "13.0"
  const std::string& version() const { return version_; }

 private:
  NvrtcPool(NvrtcOptions options, PrecompiledHeaders headers)
      : options_(std::move(options)), headers_(std::move(headers)) {}
  Result<void> refill();
  static Result<ByteBuffer> await_ready(NvrtcProcess& worker, Deadline deadline);
  Result<NvrtcProcess> take(Deadline deadline);
  Result<NvrtcAnswer> compile_by(NvrtcProcess& worker, const CudaSource& source,
                                 std::chrono::milliseconds patience, Deadline deadline);

  NvrtcOptions options_;
  PrecompiledHeaders headers_;
  std::deque<NvrtcProcess> waiting_;
  std::string version_;
};

}  // namespace warpsmith::sandbox
