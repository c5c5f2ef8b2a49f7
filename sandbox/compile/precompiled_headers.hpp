// SPDX-License-Identifier: Apache-2.0
// NVRTC's precompiled headers on disk, one file for each sequence of headers that sources begin
// with. With them <cooperative_groups.h> or <cub/cub.cuh> costs a tenth of the time.
//
// A jailed process makes a file from the toolkit's headers alone: a submission decides only which
// headers, and their order. A file fits processes with the same memory placement; in another one
// NVRTC says so and does without it.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "runtime/run/owned_folder.hpp"
#include "sandbox/compile/nvrtc_process.hpp"

namespace warpsmith::sandbox {

/// Not thread-safe. Several processes may share a folder.
class PrecompiledHeaders {
 public:
  /// Makes `options.precompiled_folder`, which holds at most about `max_bytes`. Without a folder
  /// there are never any files.
  static Result<PrecompiledHeaders> open(NvrtcOptions options, uint64_t max_bytes);

  /// The option that makes NVRTC use the file for these lines (leading_headers.hpp); empty if there
  /// is none. The second request for the same lines starts to make one in the background.
  std::string option_for(const std::string& headers);
  /// Reads from the compiler's log whether the file fit. One that did not is removed; after two
  /// such files none is used. A file that only holds other headers than the source stays.
  void judge(const std::string& headers, const std::string& compiler_log);
  void remove(const std::string& headers) const;
  /// Finishes the file in the making if it is ready. Returns within milliseconds.
  void tend();

 private:
  /// One file in the making.
  struct Making {
    NvrtcProcess worker;
    std::string name;
    OwnedFolder folder;
    Deadline by;
  };
  PrecompiledHeaders(NvrtcOptions options, uint64_t max_bytes);
  std::string name_of(const std::string& headers) const;
  std::filesystem::path kept(const std::string& name) const { return folder_ / name; }
  void begin(const std::string& headers);
  void finish();
  void end_making();
  void shrink() const;

  NvrtcOptions options_;
  std::filesystem::path folder_;
  uint64_t max_bytes_;
  std::string identity_;              // of the toolkit and options that a file must fit
  std::map<std::string, int> asked_;  // name → requests while there is no file
  std::optional<Making> making_;
  int misfits_ = 0;
};

}  // namespace warpsmith::sandbox
