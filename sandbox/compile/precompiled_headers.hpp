// SPDX-License-Identifier: Apache-2.0
// NVRTC's precompiled headers on disk, one file for each sequence of headers that sources begin
// with. With them <cooperative_groups.h> or <cub/cub.cuh> costs a tenth of the time.
//
// A jailed process makes a file only from the toolkit's headers: a submission decides only which
// headers, and their order. A file fits processes with the same memory placement; in any other
// process NVRTC reports a mismatch and compiles without it.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "runtime/run/owned_folder.hpp"
#include "runtime/submission.hpp"
#include "sandbox/compile/nvrtc.hpp"

namespace warpsmith::sandbox {

/// The includes in angle brackets at the top of `main`, with only comments between them,
/// as lines "#include <NAME>\n"; at most 16. Empty if there is none, if other files are submitted
/// (an include may name one), and if a backslash joins one of these lines to the next.
std::string leading_headers(const FileSet& files, const std::string& main);

/// Not thread-safe. Several processes may share a folder.
class PrecompiledHeaders {
 public:
  /// Makes `options.precompiled_folder`, which holds at most about `max_bytes`. Without a folder
  /// there are never any files.
  static Result<PrecompiledHeaders> open(NvrtcOptions options, uint64_t max_bytes);

  /// The option that makes NVRTC use the file for the lines of `leading_headers`; empty if there
  /// is none. The second request for the same lines starts to make one in the background.
  std::string option_for(const std::string& headers);
  /// Reads from the compiler's log whether the file fit. One that did not is removed; after two
  /// such files none is used. A file that only holds other headers than the source is kept.
  void note_use(const std::string& headers, const std::string& compiler_log);
  void remove(const std::string& headers) const;
  /// Finishes the file in the making if it is ready. Returns within milliseconds.
  void poll();

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
  std::string identity_;                 // of the toolkit and options that a file must fit
  std::map<std::string, int> requests_;  // name → requests while there is no file
  std::optional<Making> making_;
  int misfits_ = 0;
};

}  // namespace warpsmith::sandbox
