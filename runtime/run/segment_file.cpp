// SPDX-License-Identifier: Apache-2.0
#include "runtime/run/segment_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <system_error>
#include <utility>

#include "runtime/bytes.hpp"

namespace warpsmith {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view file_mark{"WSSEG\0\0\1", 8};
constexpr uint32_t frame_mark = 0x314D4553;  // "SEM1"
constexpr uint32_t max_payload = uint32_t{1} << 30U;

/// The header of each payload. Little-endian, like everything here.
struct Frame {
  uint32_t mark = frame_mark;
  uint32_t length = 0;
  uint64_t checksum = 0;
};
static_assert(sizeof(Frame) == 16);

std::string place_name(const fs::path& path, uint64_t offset) {
  return fmt::format("{} at byte {}", path.string(), offset);
}

/// Returns the bytes read, fewer than `size` only at the end of the file; −1 with errno on failure.
ssize_t read_fully(int descriptor, char* into, size_t size, uint64_t offset) {
  size_t done = 0;
  while (done < size) {
    const ssize_t got =
        ::pread(descriptor, into + done, size - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return got;
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return static_cast<ssize_t>(done);
}

uint32_t newest_file(const fs::path& folder, std::error_code& error) {
  uint32_t newest = 0;
  for (fs::directory_iterator it{folder, error}, end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    uint32_t number = 0;
    const auto [last, parsed] = std::from_chars(name.data(), name.data() + name.size(), number);
    const bool is_segment = parsed == std::errc{} && std::string_view(last) == ".seg";
    if (is_segment) newest = std::max(newest, number);
  }
  return newest;
}

bool plausible(const Frame& frame) {
  return frame.mark == frame_mark && frame.length <= max_payload;
}

}  // namespace

fs::path segment_file_path(const fs::path& folder, uint32_t number) {
  std::string digits = std::to_string(number);
  digits.insert(0, digits.size() < 6 ? 6 - digits.size() : 0, '0');
  return folder / (digits + ".seg");
}

Result<SegmentScan> scan_segment_file(const fs::path& folder, uint32_t number,
                                      const RecordVisitor& visit) {
  const fs::path path = segment_file_path(folder, number);
  TRY(const auto file, open_file(path, O_RDONLY));
  SegmentScan scan;
  scan.file_size = static_cast<uint64_t>(std::max<off_t>(0, ::lseek(file.get(), 0, SEEK_END)));
  std::array<char, 8> mark{};
  const ssize_t got = read_fully(file.get(), mark.data(), mark.size(), 0);
  const bool whole = got == 8 && std::string_view(mark.data(), 8) == file_mark;
  if (!whole && scan.file_size >= 8) {
    return fail(ErrorCode::corrupt, path.string() + ": not a segment file (wrong mark)");
  }
  scan.valid_end = whole ? 8 : 0;
  ByteBuffer payload;
  while (scan.valid_end >= 8) {
    Frame frame;
    const ssize_t head =
        read_fully(file.get(), reinterpret_cast<char*>(&frame), sizeof frame, scan.valid_end);
    const uint64_t left = scan.file_size - scan.valid_end;
    if (head != sizeof frame || !plausible(frame) || sizeof frame + frame.length > left) break;
    payload.resize(frame.length);
    const ssize_t body =
        read_fully(file.get(), payload.data(), frame.length, scan.valid_end + sizeof frame);
    const std::string_view bytes{payload.data(), payload.size()};
    if (body != static_cast<ssize_t>(frame.length) || checksum64(bytes) != frame.checksum) break;
    visit({number, scan.valid_end, frame.length, frame.checksum}, bytes);
    scan.valid_end += sizeof frame + frame.length;
    ++scan.records;
  }
  return scan;
}

Result<SegmentLog> SegmentLog::open(const fs::path& folder, SegmentLogOptions options) {
  SegmentLog log{folder, options};
  std::error_code error;
  const uint32_t newest = newest_file(folder, error);
  if (error) return fail_with_errno("cannot list", folder, error.value());
  TRY_VOID(newest == 0 ? log.start_file(1) : log.resume_file(newest));
  return log;
}

Result<void> SegmentLog::start_file(uint32_t number) {
  const fs::path path = segment_file_path(folder_, number);
  TRY(auto file, open_file(path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND));
  auto started = write_all(file, file_mark, path);
  if (started && ::fdatasync(file.get()) != 0)
    started = fail_with_errno("cannot sync", path, errno);
  if (started) started = sync_path(folder_);
  if (!started) {
    (void)::unlink(path.c_str());
    return started;
  }
  file_ = std::move(file);
  number_ = number;
  end_ = synced_end_ = file_mark.size();
  unsynced_.clear();
  return {};
}

Result<void> SegmentLog::resume_file(uint32_t number) {
  const auto scan = scan_segment_file(folder_, number, [](const auto&, auto) {});
  const fs::path path = segment_file_path(folder_, number);
  const uint64_t expected = options_.durable.file == number ? options_.durable.end : 0;
  if (!scan && scan.error().code != ErrorCode::corrupt) return tl::unexpected(scan.error());
  if (!scan || scan->valid_end < expected) {
    damage_ = scan ? fmt::format("{}: damaged before its durable end at {}",
                                 place_name(path, scan->valid_end), expected)
                   : scan.error().message;
    return start_file(number + 1);
  }
  if (scan->valid_end == 0) return start_file(number);
  TRY(auto file, open_file(path, O_RDWR | O_APPEND));
  file_ = std::move(file);
  number_ = number;
  torn_bytes_ = scan->file_size - scan->valid_end;
  // Complete records that the crash left unsynced become durable here, before they are used.
  if (torn_bytes_ > 0) {
    TRY_VOID(cut(scan->valid_end));
  }
  end_ = scan->valid_end;
  if (::fdatasync(file_.get()) != 0) return fail_with_errno("cannot sync", path, errno);
  synced_end_ = end_;
  return {};
}

Result<void> SegmentLog::cut(uint64_t end) {
  if (::ftruncate(file_.get(), static_cast<off_t>(end)) != 0) {
    return fail_with_errno("cannot cut", segment_file_path(folder_, number_), errno);
  }
  end_ = end;
  return {};
}

Result<RecordPlace> SegmentLog::append(std::string_view payload) {
  if (payload.size() > max_payload) {
    return fail(ErrorCode::capacity,
                fmt::format("segment record of {} bytes; at most {}", payload.size(), max_payload));
  }
  if (end_ >= options_.rotate_bytes && end_ > file_mark.size()) {
    TRY_VOID(sync());
    TRY_VOID(start_file(number_ + 1));
  }
  const Frame frame{frame_mark, static_cast<uint32_t>(payload.size()), checksum64(payload)};
  std::string bytes(reinterpret_cast<const char*>(&frame), sizeof frame);
  bytes.append(payload);
  const RecordPlace place{number_, end_, frame.length, frame.checksum};
  TRY_VOID(write_record(bytes));
  end_ += bytes.size();
  unsynced_ += bytes;
  return place;
}

Result<void> SegmentLog::write_record(const std::string& bytes) {
  bool cut_first = false;  // a failed attempt may have left some bytes
  auto written = repeated([&]() -> Result<void> {
    if (std::exchange(cut_first, true)) TRY_VOID(cut(end_));
    return write_all(file_, bytes, segment_file_path(folder_, number_));
  });
  if (!written) (void)cut(end_);
  return written;
}

Result<void> SegmentLog::write_unsynced() {
  TRY_VOID(cut(synced_end_));
  TRY_VOID(write_all(file_, unsynced_, segment_file_path(folder_, number_)));
  end_ = synced_end_ + unsynced_.size();
  return {};
}

Result<void> SegmentLog::sync() {
  if (!dirty()) return {};
  bool write_first = false;
  auto synced = repeated([&]() -> Result<void> {
    if (std::exchange(write_first, true)) TRY_VOID(write_unsynced());
    if (::fdatasync(file_.get()) == 0) return {};
    return fail_with_errno("cannot sync", segment_file_path(folder_, number_), errno);
  });
  if (!synced) {
    (void)discard_unsynced();
    return synced;
  }
  synced_end_ = end_;
  unsynced_.clear();
  return {};
}

Result<void> SegmentLog::discard_unsynced() {
  unsynced_.clear();
  return cut(synced_end_);
}

Result<ByteBuffer> SegmentLog::read(const RecordPlace& place) const {
  return read_record(folder_, place);
}

Result<ByteBuffer> read_record(const fs::path& folder, const RecordPlace& place) {
  const fs::path path = segment_file_path(folder, place.file);
  TRY(const auto file, open_file(path, O_RDONLY));
  Frame frame;
  const ssize_t head =
      read_fully(file.get(), reinterpret_cast<char*>(&frame), sizeof frame, place.offset);
  if (head != sizeof frame || !plausible(frame) || frame.length != place.length) {
    return fail(ErrorCode::corrupt, fmt::format("{}: no record of {} bytes",
                                                place_name(path, place.offset), place.length));
  }
  ByteBuffer payload(place.length);
  const ssize_t body =
      read_fully(file.get(), payload.data(), payload.size(), place.offset + sizeof frame);
  const bool whole = body == static_cast<ssize_t>(payload.size());
  const uint64_t checksum = checksum64({payload.data(), payload.size()});
  if (!whole || checksum != frame.checksum || checksum != place.checksum) {
    return fail(ErrorCode::corrupt,
                place_name(path, place.offset) + ": the record does not match its checksum");
  }
  return payload;
}

}  // namespace warpsmith
