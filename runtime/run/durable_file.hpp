// SPDX-License-Identifier: Apache-2.0
// Whole files read, and files that survive a crash: what was synced is there, what was renamed into
// place is whole.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "runtime/result.hpp"

namespace warpsmith {

/// The failure that `errno` says: `disk_full` when space, quota or a size limit ran out,
/// `not_found` for a missing file, else `io_failed`. The message is "WHAT PATH: reason".
tl::unexpected<Error> fail_with_errno(std::string_view what, const std::filesystem::path& path,
                                      int error_number);

/// A file descriptor that closes itself.
class OpenFile {
 public:
  OpenFile() = default;
  explicit OpenFile(int descriptor) : descriptor_(descriptor) {}
  OpenFile(OpenFile&& other) noexcept;
  OpenFile& operator=(OpenFile&& other) noexcept;
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile();

  int get() const { return descriptor_; }
  bool is_open() const { return descriptor_ >= 0; }
  void close();

 private:
  int descriptor_ = -1;
};

/// open(2) with O_CLOEXEC; new files get mode 0644.
Result<OpenFile> open_file(const std::filesystem::path& path, int flags);
/// All bytes or an error; a file that may have been written in part is the caller's to cut.
Result<void> write_all(const OpenFile& file, std::string_view bytes,
                       const std::filesystem::path& path);

/// All of a file, also of one in /proc. `parse_failed` if it is longer than `max_bytes`,
/// `invalid_argument` for a pipe or a device: nothing is waited for.
Result<std::string> read_text_file(const std::filesystem::path& path, size_t max_bytes);

/// Writes beside `path` and renames over it: whoever reads finds the old content or the new one.
/// After a crash of the machine it may be neither.
Result<void> write_file_whole(const std::filesystem::path& path, std::string_view content);

/// Writes beside `path`, syncs, renames over it, syncs the folder: after a crash the file holds
/// either its old or its new content.
Result<void> write_file_durably(const std::filesystem::path& path, std::string_view content);

/// Removes what writers of `folder` that were killed left behind. Only for a folder's owner.
void remove_unfinished_files(const std::filesystem::path& folder);

/// fsync of one file or folder.
Result<void> sync_path(const std::filesystem::path& path);
/// fsync of every file and folder below `folder`, then of itself.
Result<void> sync_tree(const std::filesystem::path& folder);

/// SHA-256 of a file's content, read in pieces.
Result<std::string> sha256_of_file(const std::filesystem::path& path);

}  // namespace warpsmith
