// SPDX-License-Identifier: Apache-2.0
// NVRTC's precompiled headers on disk: one file for each sequence of headers that sources begin
// with. With them <cooperative_groups.h> or <cub/cub.cuh> costs a tenth of the time.
//
// A file is made by a jailed process of ours from headers of the toolkit alone; nothing of a
// submission is in it but which headers, and in which order. It fits a process whose memory is
// placed alike; in another one NVRTC says so and does without.
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
  /// Kept in `options.precompiled_folder`, at most about `max_bytes`; the folder is made. Without a
  /// folder nothing is ever found.
  static Result<PrecompiledHeaders> open(NvrtcOptions options, uint64_t max_bytes);

  /// The option that makes NVRTC use the file for these lines (leading_headers.hpp); empty where
  /// there is none. Asked for the same lines twice it begins to make one, beside other work.
  std::string option_for(const std::string& headers);
  /// What the compiler said of it: a file that does not fit is removed, and after two of them none
  /// is used any more. One that only has other headers than the source stays.
  void judge(const std::string& headers, const std::string& compiler_log);
  void remove(const std::string& headers) const;
  /// Looks whether the file that is being made is there. Returns within milliseconds.
  void tend();

 private:
  /// At work on one file.
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
  std::string identity_;              // of what a file must fit
  std::map<std::string, int> asked_;  // name → how often, while there is no file
  std::optional<Making> making_;
  int misfits_ = 0;
};

}  // namespace warpsmith::sandbox
