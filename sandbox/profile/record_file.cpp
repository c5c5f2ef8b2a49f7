// SPDX-License-Identifier: Apache-2.0
#include "sandbox/profile/record_file.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <string>

#include "runtime/codec.hpp"
#include "runtime/describe.hpp"
#include "sandbox/profile/profiled_kernel.hpp"

namespace warpsmith::sandbox {
namespace {

using cuda::KernelCounters;
using cuda::KernelRecord;
using cuda::RecordKind;
using sandbox::is_possible;

constexpr size_t most_name_bytes = 256, most_reason_bytes = 256;
constexpr int64_t most_ns = 86'400'000'000'000;  // one day

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

/// A list of entries, or the reason why there is none.
template <class Entry, size_t most>
struct List {
  std::vector<Entry> entries;
  std::string reason;

  WARPSMITH_RECORD(entries, reason)
  Result<void> validate() const {
    if (entries.size() > most) return fail(ErrorCode::parse_failed, "too many records");
    if (!std::ranges::all_of(entries, [](const Entry& one) { return is_possible(one); })) {
      return fail(ErrorCode::parse_failed, "a record holds impossible numbers");
    }
    return {};
  }
};
using RecordList = List<KernelRecord, most_records>;
using CounterList = List<KernelCounters, most_profiled_kernels>;

template <class Packed>
ByteBuffer packed_reason(const char* what, const Error& why) {
  Packed list;
  list.reason = what + why.message;
  list.reason.resize(std::min(list.reason.size(), most_reason_bytes));
  return codec::pack(list);
}

ByteBuffer packed(const Result<std::vector<KernelRecord>>& recorded) {
  if (!recorded) return packed_reason<RecordList>("no records: ", recorded.error());
  RecordList list{.entries = *recorded};
  for (KernelRecord& record : list.entries) record.name = record.name.substr(0, most_name_bytes);
  return codec::pack(list);
}

ByteBuffer packed(const Result<std::vector<KernelCounters>>& counted) {
  if (!counted) return packed_reason<CounterList>("", counted.error());
  return codec::pack(CounterList{.entries = *counted});
}

/// Writes the length and then the bytes. Records that do not fit are replaced by a reason.
template <class Recorded>
void put(std::span<std::byte> memory, const Recorded& recorded, size_t most) {
  ByteBuffer bytes = packed(recorded);
  const uint64_t room = memory.size() - sizeof(uint64_t);
  if (recorded && (recorded->size() > most || bytes.size() > room)) {
    bytes = packed(Recorded{fail(ErrorCode::capacity, "more records than there is room for")});
  }
  const uint64_t length = bytes.size();
  std::memcpy(memory.data(), &length, sizeof length);
  std::memcpy(memory.data() + sizeof length, bytes.data(), bytes.size());
}

/// Converts a reason to one line of printable text.
std::string shown(const std::string& reason) {
  std::string text = reason.substr(0, most_reason_bytes);
  for (char& c : text) {
    if (c < ' ' || c > '~') c = ' ';
  }
  return text;
}

template <class Packed>
auto read_list(std::span<const std::byte> memory) -> Result<decltype(Packed::entries)> {
  TRY(const auto bytes, read_text(memory));
  auto list = codec::unpack<Packed>(bytes.data(), bytes.size());
  if (!list) return fail("records", std::move(list.error()));
  if (!list->reason.empty()) return fail(ErrorCode::unsupported, shown(list->reason));
  return std::move(list->entries);
}

}  // namespace

void write_records(std::span<std::byte> memory, const Result<std::vector<KernelRecord>>& recorded) {
  assert(memory.size() >= record_file_bytes && "no room for a reason");
  put(memory.first(memory.size() - counter_file_bytes), recorded, most_records);
}

void write_counters(std::span<std::byte> memory,
                    const Result<std::vector<KernelCounters>>& counted) {
  assert(memory.size() >= record_file_bytes && "no room for a reason");
  put(memory.last(counter_file_bytes), counted, most_profiled_kernels);
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
  return read_list<RecordList>(memory);
}

Result<std::vector<KernelCounters>> read_counters(std::span<const std::byte> memory) {
  return read_list<CounterList>(memory.last(std::min(memory.size(), counter_file_bytes)));
}

}  // namespace warpsmith::sandbox
