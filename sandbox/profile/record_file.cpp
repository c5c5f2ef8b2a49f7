// SPDX-License-Identifier: Apache-2.0
#include "sandbox/profile/record_file.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <string>

#include "runtime/codec.hpp"
#include "sandbox/profile/profiled_kernel.hpp"

namespace warpsmith::sandbox {
namespace {

using cuda::KernelRecord;
using cuda::RecordKind;

constexpr size_t most_name_bytes = 256, most_reason_bytes = 256;
constexpr int64_t most_ns = 86'400'000'000'000;  // a day

bool is_possible(const KernelRecord& record) {
  const bool times =
      record.start_ns >= 0 && record.duration_ns >= 0 && record.duration_ns <= most_ns;
  const bool sizes = record.registers <= most_registers &&
                     record.static_shared <= most_shared_bytes &&
                     record.dynamic_shared <= most_shared_bytes;
  const bool block = std::ranges::all_of(
      record.block, [](uint32_t extent) { return extent <= most_block_threads; });
  return record.kind <= RecordKind::fill && record.name.size() <= most_name_bytes && times &&
         sizes && block;
}

struct RecordList {
  std::vector<KernelRecord> records;
  std::string reason;  // why there are none

  template <class Archive>
  void serialize(Archive& archive) {
    archive(records, reason);
  }
  Result<void> validate() const {
    if (records.size() > most_records) return fail(ErrorCode::parse_failed, "too many records");
    if (!std::ranges::all_of(records, is_possible)) {
      return fail(ErrorCode::parse_failed, "a record holds impossible numbers");
    }
    return {};
  }
};

ByteBuffer packed(const Result<std::vector<KernelRecord>>& recorded) {
  RecordList list;
  if (recorded) {
    list.records = *recorded;
    for (KernelRecord& record : list.records) record.name = record.name.substr(0, most_name_bytes);
  } else {
    list.reason = "no records: " + recorded.error().message;
    list.reason.resize(std::min(list.reason.size(), most_reason_bytes));
  }
  return codec::pack(list);
}

/// As one line of printable text.
std::string shown(const std::string& reason) {
  std::string text = reason.substr(0, most_reason_bytes);
  for (char& c : text) {
    if (c < ' ' || c > '~') c = ' ';
  }
  return text;
}

}  // namespace

void write_records(std::span<std::byte> memory, const Result<std::vector<KernelRecord>>& recorded) {
  assert(memory.size() >= record_file_bytes && "no room for a reason");
  ByteBuffer bytes = packed(recorded);
  if (recorded && (recorded->size() > most_records || bytes.size() > memory.size() - 8)) {
    bytes = packed(fail(ErrorCode::capacity, "more records than there is room for"));
  }
  const uint64_t length = bytes.size();
  std::memcpy(memory.data(), &length, sizeof length);
  std::memcpy(memory.data() + sizeof length, bytes.data(), bytes.size());
}

Result<std::string> read_text(std::span<const std::byte> memory) {
  uint64_t length = 0;
  if (memory.size() < sizeof length) return fail(ErrorCode::parse_failed, "records: no length");
  std::memcpy(&length, memory.data(), sizeof length);
  if (length > memory.size() - sizeof length) {
    return fail(ErrorCode::parse_failed, "records: longer than their memory");
  }
  return std::string(reinterpret_cast<const char*>(memory.data() + sizeof length),
                     static_cast<size_t>(length));
}

Result<std::vector<KernelRecord>> read_records(std::span<const std::byte> memory) {
  const auto bytes = read_text(memory);
  if (!bytes) return tl::unexpected(bytes.error());
  auto list = codec::unpack<RecordList>(bytes->data(), bytes->size());
  if (!list) return fail("records", std::move(list.error()));
  if (!list->reason.empty()) return fail(ErrorCode::unsupported, shown(list->reason));
  return std::move(list->records);
}

}  // namespace warpsmith::sandbox
