// SPDX-License-Identifier: Apache-2.0
// Reads whole files, and writes files that survive a crash: synced content is on disk, and a
// renamed file is complete.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>

#include "runtime/process/unique_fd.hpp"
#include "runtime/result.hpp"

namespace warpsmith {

/// The failure for an errno: `disk_full` for no space, no quota or a size limit, `not_found` for a
/// missing file, `invalid_argument` for a loop of links, otherwise `io_failed`. The message is
/// "WHAT PATH: reason".
tl::unexpected<Error> fail_with_errno(std::string_view what, const std::filesystem::path& path,
                                      int error_number);

/// open(2) with O_CLOEXEC; a new file gets mode 0644.
Result<UniqueFd> open_file(const std::filesystem::path& path, int flags);
/// Writes all bytes or fails; after a failure the file may contain some of them.
Result<void> write_all(const UniqueFd& file, std::string_view bytes,
                       const std::filesystem::path& path);

/// Calls `attempt` until it succeeds, at most `write_attempts` times with growing pauses. Repeats
/// only `io_failed` (EIO, a failed fsync), which may pass; a full disk returns at once. Each call
/// must begin at the last durable byte and take its bytes from memory: after a failed fsync the
/// system may have dropped them.
inline constexpr int write_attempts = 4;
template <class Attempt>
auto repeated(const Attempt& attempt) {
  auto result = attempt();
  for (int made = 1; made < write_attempts; ++made) {
    if (result || result.error().code != ErrorCode::io_failed) break;
    std::this_thread::sleep_for(std::chrono::milliseconds{10} * (1 << (2 * (made - 1))));
    result = attempt();
  }
  return result;
}

/// Makes the folder and its parents where they are missing.
Result<void> make_folders(const std::filesystem::path& folder);

/// The content of a file, also of one in /proc. `parse_failed` if it is longer than `max_bytes`,
/// `invalid_argument` for a pipe or a device. Never waits.
Result<std::string> read_text_file(const std::filesystem::path& path, size_t max_bytes);

/// Writes in an OwnedFolder next to `path` and renames over it: readers find the old content or the
/// new. After a crash of the machine it may contain neither.
Result<void> write_file_whole(const std::filesystem::path& path, std::string_view content);

/// The same, with the file and its folder synced: after a crash of the machine the file has its old
/// or its new content.
Result<void> write_file_durably(const std::filesystem::path& path, std::string_view content);

/// fsync of one file or folder.
Result<void> sync_path(const std::filesystem::path& path);
/// fsync of every file and folder below `folder`, then of `folder`.
Result<void> sync_tree(const std::filesystem::path& folder);

/// XXH3 (128 bits) of a file's content, read in pieces, as 32 hexadecimal digits. Detects damage at
/// memory speed, but unlike SHA-256 does not protect against forged content.
Result<std::string> hash_of_file(const std::filesystem::path& path);

}  // namespace warpsmith
