// SPDX-License-Identifier: Apache-2.0
// Compiles CUDA with NVRTC in a jailed process: the library, the worker inside the jail, and its
// start. The worker loads NVRTC, warms it up, compiles one source and ends, so a source that takes
// over its compiler cannot reach the next one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/cuda/dynamic_library.hpp"
#include "runtime/describe.hpp"
#include "runtime/process/frame_socket.hpp"
#include "runtime/result.hpp"
#include "runtime/submission.hpp"
#include "sandbox/jail/jail.hpp"

namespace warpsmith::sandbox {

/// One translation unit. It can include the other files by name.
struct CudaSource {
  FileSet files;
  std::string main;                  // the file that is compiled
  std::vector<std::string> options;  // e.g. --gpu-architecture=sm_90a

  WARPSMITH_RECORD(files, main, options)
};

struct CudaObject {
  bool compiled = false;
  bool failed = false;  // the compiler failed, not the source
  std::string log;      // the compiler's messages
  std::string cubin;    // if compiled

  WARPSMITH_RECORD(compiled, failed, log, cubin)
};

/// NVRTC, loaded at run time: the build needs no toolkit, and neither driver nor GPU is needed to
/// run.
class NvrtcLibrary {
 public:
  /// `unsupported` if none of `names` loads, or one lacks a function.
  static Result<NvrtcLibrary> load(const std::vector<std::string>& names);

  /// e.g. "13.0"
  const std::string& version() const { return version_; }
  /// The source's errors are in the log; an error here is NVRTC's. Requires that `source.files`
  /// holds `source.main`.
  Result<CudaObject> compile(const CudaSource& source) const;

 private:
  explicit NvrtcLibrary(cuda::DynamicLibrary library) : library_(library) {}

  cuda::DynamicLibrary library_;
  std::string version_;
  bool precompiles_ = false;  // NVRTC 12.8 and later; else such options are dropped
};

// The worker, inside the jail.

inline constexpr int nvrtc_socket_fd = 3;
inline constexpr const char* nvrtc_folder = "/nvrtc";  // the library's folder in the jail

/// A worker's first answer, after it compiled a small warm-up source.
struct NvrtcReady {
  std::string version;
  std::string failure;  // empty if it could

  WARPSMITH_RECORD(version, failure)
};

/// Answers a warm-up source with NvrtcReady, then one source with its CudaObject, in frames on
/// `nvrtc_socket_fd`. Returns the exit code.
int run_nvrtc_worker();

// The outer side.

struct NvrtcOptions {
  std::string program;                // warpsmith-sandbox
  std::string library_folder;         // holds libnvrtc.so.*
  std::vector<std::string> includes;  // folders of the toolkit's headers
  std::vector<std::string> flags;     // of every source
  std::string precompiled_folder;     // of PrecompiledHeaders; empty: none
  JailLimits limits;
  std::vector<int> cores;  // empty: the calling thread's
  size_t ready = 1;        // workers kept waiting
};

/// Where `precompiled_folder` appears in the jail, read-only.
inline constexpr const char* precompiled_path = "/precompiled";

/// The path of folder number `index` of headers in the jail: /include0, /include1, …
std::string include_path(size_t index);

struct NvrtcProcess {
  std::unique_ptr<JailedProcess> process;
  FrameSocket socket;
};

/// Starts a process. All of them have the same memory placement, since a precompiled header fits
/// only the placement that it was made with. `writable`: one more folder.
Result<NvrtcProcess> start_nvrtc(const NvrtcOptions& options,
                                 const std::optional<Bind>& writable = std::nullopt);

}  // namespace warpsmith::sandbox
