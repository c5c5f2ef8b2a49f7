// SPDX-License-Identifier: Apache-2.0
// Reads whole files, and writes files that survive a crash: synced content is there, and a renamed
// file is complete.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "runtime/result.hpp"

namespace warpsmith {

/// The failure of an errno: `disk_full` for no space, no quota or a size limit, `not_found` for a
/// missing file, `invalid_argument` for a loop of links, otherwise `io_failed`. The message is
/// "WHAT PATH: reason".
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

/// open(2) with O_CLOEXEC; a new file gets mode 0644.
Result<OpenFile> open_file(const std::filesystem::path& path, int flags);
/// Writes all bytes or fails; after a failure the file may hold some of them.
Result<void> write_all(const OpenFile& file, std::string_view bytes,
                       const std::filesystem::path& path);

/// The content of a file, also of one in /proc. `parse_failed` if it is longer than `max_bytes`,
/// `invalid_argument` for a pipe or a device. Never waits.
Result<std::string> read_text_file(const std::filesystem::path& path, size_t max_bytes);

/// Writes in an OwnedFolder beside `path` and renames over it: readers find the old content or the
/// new. After a crash of the machine the file may hold neither.
Result<void> write_file_whole(const std::filesystem::path& path, std::string_view content);

/// The same, with the file and its folder synced: after a crash of the machine the file holds its
/// old or its new content.
Result<void> write_file_durably(const std::filesystem::path& path, std::string_view content);

/// fsync of one file or folder.
Result<void> sync_path(const std::filesystem::path& path);
/// fsync of every file and folder below `folder`, then of `folder`.
Result<void> sync_tree(const std::filesystem::path& folder);

/// XXH3 (128 bits) of a file's content, read in pieces, as 32 hexadecimal digits. Finds damage as
/// fast as memory is read; unlike SHA-256 it proves nothing about content made on purpose.
Result<std::string> hash_of_file(const std::filesystem::path& path);

}  // namespace warpsmith
