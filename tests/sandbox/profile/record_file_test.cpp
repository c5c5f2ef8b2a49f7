// SPDX-License-Identifier: Apache-2.0
#include "sandbox/profile/record_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "runtime/random_stream.hpp"
#include "sandbox/profile/profiled_kernel.hpp"

namespace warpsmith::sandbox {
namespace {

using cuda::KernelCounters;
using cuda::KernelRecord;
using cuda::RecordKind;
using testing::HasSubstr;

class RecordFileTest : public testing::Test {
 protected:
  void write(const Result<std::vector<KernelRecord>>& recorded) {
    write_records(memory_, recorded);
  }
  void put_length(uint64_t length) { std::memcpy(memory_.data(), &length, sizeof length); }

  std::vector<std::byte> memory_ = std::vector<std::byte>(record_file_bytes);
};

KernelRecord some_kernel() {
  return {.name = "rms_norm",
          .start_ns = 17,
          .duration_ns = 1234,
          .grid = {256, 2, 1},
          .block = {128, 1, 1},
          .registers = 40,
          .static_shared = 32,
          .dynamic_shared = 1024,
          .local_bytes = 8,
          .in_graph = true};
}

KernelCounters some_counters() {
  return {.dram_read_bytes = 4096,
          .dram_written_bytes = 1024,
          .flops = 1e9,
          .tensor_flops = 0,
          .warps_active = 0.5};
}

TEST_F(RecordFileTest, ReadsWhatWasWritten) {
  KernelRecord copy{.kind = RecordKind::copy, .start_ns = 2000, .duration_ns = 5};
  copy.bytes = 1U << 20U;
  write(std::vector{some_kernel(), copy});
  const auto read = read_records(memory_);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 2U);
  const KernelRecord &first = read->front(), expected = some_kernel();
  EXPECT_EQ(first.name, expected.name);
  EXPECT_EQ(first.grid, expected.grid);
  EXPECT_EQ(first.block, expected.block);
  EXPECT_EQ(first.duration_ns, expected.duration_ns);
  EXPECT_EQ(first.registers, expected.registers);
  EXPECT_EQ(first.dynamic_shared, expected.dynamic_shared);
  EXPECT_EQ(first.local_bytes, expected.local_bytes);
  EXPECT_EQ(read->back().kind, RecordKind::copy);
  EXPECT_EQ(read->back().bytes, 1U << 20U);
}

TEST_F(RecordFileTest, AReasonComesBackAsAnError) {
  write(fail(ErrorCode::unsupported, "CUPTI error 35\n\x1b[31m" + std::string(5000, 'x')));
  const auto read = read_records(memory_);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::unsupported);
  EXPECT_THAT(read.error().message, HasSubstr("no records: CUPTI error 35  [31mxx"));
  EXPECT_LE(read.error().message.size(), 256U);
}

TEST_F(RecordFileTest, ReportsRecordsThatDoNotFit) {
  write(std::vector(most_records + 1, some_kernel()));
  EXPECT_THAT(read_records(memory_).error().message, HasSubstr("more records than there is room"));
  std::vector<KernelRecord> full(most_records, some_kernel());
  for (KernelRecord& one : full) one.name = std::string(9000, 'n');
  write(full);
  const auto read = read_records(memory_);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->back().name.size(), 256U);
}

TEST_F(RecordFileTest, CountersDoNotOverlapRecords) {
  EXPECT_EQ(read_counters(memory_).error().code, ErrorCode::parse_failed) << "nothing was left";
  write(std::vector{some_kernel()});
  write_counters(memory_, std::vector{some_counters(), some_counters()});
  const auto counted = read_counters(memory_);
  ASSERT_TRUE(counted) << counted.error().message;
  ASSERT_EQ(counted->size(), 2U);
  EXPECT_EQ(counted->back().dram_written_bytes, some_counters().dram_written_bytes);
  EXPECT_EQ(counted->back().warps_active, some_counters().warps_active);
  EXPECT_EQ(read_records(memory_)->size(), 1U);
  write_counters(memory_, fail(ErrorCode::unsupported, "no permission"));
  EXPECT_EQ(read_counters(memory_).error().message, "no permission");
  EXPECT_FALSE(read_counters(std::span{memory_}.first(4)));
}

TEST_F(RecordFileTest, FitsTheMostCountersAndReportsOneMore) {
  write_counters(memory_, std::vector(most_profiled_kernels, some_counters()));
  EXPECT_EQ(read_counters(memory_)->size(), most_profiled_kernels);
  write_counters(memory_, std::vector(most_profiled_kernels + 1, some_counters()));
  EXPECT_THAT(read_counters(memory_).error().message, HasSubstr("more records than there is room"));
}

TEST_F(RecordFileTest, ImpossibleCountersAreRefused) {
  const auto refused = [this](double KernelCounters::* field, double value) {
    KernelCounters counters = some_counters();
    counters.*field = value;
    write_counters(memory_, std::vector{counters});
    return !read_counters(memory_);
  };
  EXPECT_TRUE(refused(&KernelCounters::flops, -1));
  EXPECT_TRUE(refused(&KernelCounters::tensor_flops, std::nan("")));
  EXPECT_TRUE(refused(&KernelCounters::dram_read_bytes, INFINITY));
  EXPECT_TRUE(refused(&KernelCounters::dram_written_bytes, 1e300));
  EXPECT_TRUE(refused(&KernelCounters::warps_active, 1.5));
  EXPECT_FALSE(refused(&KernelCounters::warps_active, 1));
}

TEST_F(RecordFileTest, LengthsBeyondTheMemoryAreRefused) {
  write(std::vector{some_kernel()});
  for (const uint64_t length : {uint64_t{record_file_bytes}, ~uint64_t{0}, uint64_t{0}}) {
    put_length(length);
    EXPECT_EQ(read_records(memory_).error().code, ErrorCode::parse_failed) << length;
  }
  EXPECT_FALSE(read_records(std::span{memory_}.first(4)));
}

TEST_F(RecordFileTest, ImpossibleNumbersAreRefused) {
  const auto refused = [this](auto change) {
    KernelRecord record = some_kernel();
    change(record);
    write(std::vector{record});
    return !read_records(memory_);
  };
  EXPECT_TRUE(refused([](KernelRecord& r) { r.duration_ns = -1; }));
  EXPECT_TRUE(refused([](KernelRecord& r) { r.duration_ns = INT64_MAX; }));
  EXPECT_TRUE(refused([](KernelRecord& r) { r.start_ns = INT64_MIN; }));
  EXPECT_TRUE(refused([](KernelRecord& r) { r.block[1] = 4096; }));
  EXPECT_TRUE(refused([](KernelRecord& r) { r.registers = 4711; }));
  EXPECT_TRUE(refused([](KernelRecord& r) { r.static_shared = UINT32_MAX; }));
  EXPECT_TRUE(refused([](KernelRecord& r) { r.kind = static_cast<RecordKind>(9); }));
}

/// The memory claims 2^60 records, or names longer than itself.
TEST_F(RecordFileTest, HugeCountsAllocateNoMemory) {
  write(std::vector{some_kernel()});
  const uint64_t count = uint64_t{1} << 60U;
  std::memcpy(memory_.data() + 8, &count, sizeof count);
  EXPECT_EQ(read_records(memory_).error().code, ErrorCode::parse_failed);
}

TEST_F(RecordFileTest, AnyDamageToCountersIsRefusedOrHarmless) {
  RandomStream random(12, "damage");
  const std::span<std::byte> counters = std::span{memory_}.last(counter_file_bytes);
  for (int round = 0; round < 3000; ++round) {
    write_counters(memory_, std::vector(3, some_counters()));
    for (uint64_t hits = 1 + random.below(4); hits > 0; --hits) {
      counters[random.below(160)] = static_cast<std::byte>(random.below(256));
    }
    const auto read = read_counters(memory_);
    if (!read) continue;
    EXPECT_LE(read->size(), most_profiled_kernels);
    EXPECT_TRUE(std::ranges::all_of(*read, is_possible));
  }
}

/// Whatever a launcher writes is refused or is a list within the limits.
TEST_F(RecordFileTest, AnyDamageIsRefusedOrHarmless) {
  RandomStream random(11, "damage");
  for (int round = 0; round < 3000; ++round) {
    write(std::vector(3, some_kernel()));
    for (uint64_t hits = 1 + random.below(4); hits > 0; --hits) {
      memory_[random.below(400)] = static_cast<std::byte>(random.below(256));
    }
    const auto read = read_records(memory_);
    if (!read) continue;
    EXPECT_LE(read->size(), most_records);
    const auto folded = fold_calls(*read, 3);
    if (!folded) continue;
    for (const ProfiledKernel& kernel : *folded) {
      for (const char c : kernel.name) EXPECT_TRUE(c >= ' ' && c <= '~');
      EXPECT_GE(kernel.time_us, 0);
    }
  }
}

}  // namespace
}  // namespace warpsmith::sandbox
