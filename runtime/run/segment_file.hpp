// SPDX-License-Identifier: Apache-2.0
// Append-only files of checksummed records, which contain a run's tokens.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "runtime/bytes.hpp"
#include "runtime/run/durable_file.hpp"

namespace warpsmith {

/// The place of one record. `checksum` is that of its payload, so that an index can distinguish a
/// repeated record from a different one without reading it.
struct RecordPlace {
  uint32_t file = 0;    // segments/000001.seg is 1
  uint64_t offset = 0;  // of the record's frame
  uint32_t length = 0;  // bytes of payload
  uint64_t checksum = 0;

  bool operator==(const RecordPlace&) const = default;
};

/// The end of the records that an index lists as durable.
struct DurableEnd {
  uint32_t file = 0;
  uint64_t end = 0;
};

struct SegmentLogOptions {
  uint64_t rotate_bytes = uint64_t{64} << 20U;  // a file this long is followed by a new one
  DurableEnd durable;                           // never truncated before this point
};

/// Writes records. They are appended with write(2), so a killed process loses none of them. `sync`
/// makes all of them durable at once (group commit); only then may they be acknowledged.
/// Layout of a file: a mark of 8 bytes, then frames: mark, length, checksum, payload.
class SegmentLog {
 public:
  /// Opens the newest file for appending after its last complete record. A torn tail is cut off: it
  /// was never synced, so never acknowledged. A file that is damaged before its durable end is left
  /// as it is, and a new one is started (see damage()).
  static Result<SegmentLog> open(const std::filesystem::path& folder,
                                 SegmentLogOptions options = {});

  /// Both repeat a write that fails for a reason that may pass. A failed append leaves the log as
  /// it was.
  Result<RecordPlace> append(std::string_view payload);
  /// A failure cuts off everything since the last sync, since its state on disk is unknown.
  Result<void> sync();
  /// Cuts off everything since the last sync.
  Result<void> discard_unsynced();
  /// Returns the payload after checking it; `corrupt` names file and offset.
  Result<ByteBuffer> read(const RecordPlace& place) const;

  bool dirty() const { return end_ != synced_end_; }
  uint32_t file_number() const { return number_; }
  uint64_t end() const { return end_; }
  /// The size in bytes of a torn tail that was cut off when the file was opened.
  uint64_t torn_bytes() const { return torn_bytes_; }
  /// Damage found in the newest file when it was opened; empty if none.
  const std::string& damage() const { return damage_; }

 private:
  SegmentLog(std::filesystem::path folder, SegmentLogOptions options)
      : folder_(std::move(folder)), options_(options) {}
  Result<void> start_file(uint32_t number);
  Result<void> resume_file(uint32_t number);
  Result<void> cut(uint64_t end);
  Result<void> write_record(const std::string& bytes);
  Result<void> write_unsynced();

  std::filesystem::path folder_;
  SegmentLogOptions options_;
  UniqueFd file_;
  uint32_t number_ = 0;
  uint64_t end_ = 0;         // of the last record of the current file
  std::string unsynced_;     // the bytes since the last sync, to write them again
  uint64_t synced_end_ = 0;  // covered by the last sync; older files are always synced
  uint64_t torn_bytes_ = 0;
  std::string damage_;
};

/// The result of scanning one file.
struct SegmentScan {
  uint64_t valid_end = 0;  // end of the last complete record
  uint64_t file_size = 0;
  uint64_t records = 0;
};
using RecordVisitor = std::function<void(const RecordPlace&, std::string_view payload)>;

/// Reads a file's records in order, up to the first that is incomplete.
Result<SegmentScan> scan_segment_file(const std::filesystem::path& folder, uint32_t number,
                                      const RecordVisitor& visit);

/// Returns the payload of a record after checking it; `corrupt` names file and offset.
Result<ByteBuffer> read_record(const std::filesystem::path& folder, const RecordPlace& place);

std::filesystem::path segment_file_path(const std::filesystem::path& folder, uint32_t number);

}  // namespace warpsmith
