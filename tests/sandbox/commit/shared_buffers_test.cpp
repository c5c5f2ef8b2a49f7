// SPDX-License-Identifier: Apache-2.0
// Layouts: alignment, guards, no overlap. Memories: contestants cannot write inputs.
#include "sandbox/commit/shared_buffers.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <vector>

namespace warpsmith::sandbox {
namespace {

TaskSignature signature_of(const std::vector<std::pair<TensorRole, int64_t>>& tensors) {
  TaskSignature signature;
  for (const auto& [role, count] : tensors) {
    signature.tensors.push_back({"t", role, Dtype::f32, {count}, {"n"}});
  }
  return signature;
}

const TaskSignature three = signature_of(
    {{TensorRole::input, 1000}, {TensorRole::parameter, 7}, {TensorRole::output, 1001}});

TEST(BufferLayoutTest, AlignsEveryTensorAndKeepsGuardsApart) {
  const BufferLayout layout = make_layout(three, 3);
  uint64_t end = 0;
  for (const size_t i : {0U, 1U}) {
    EXPECT_EQ(layout.slots[i].offset % 64, 0U);
    EXPECT_GE(layout.slots[i].offset, end + guard_bytes);
    end = layout.slots[i].offset + layout.slots[i].bytes + guard_bytes;
  }
  EXPECT_LE(end, layout.input_stride);
  EXPECT_TRUE(layout.slots[2].output);
  EXPECT_EQ(layout.slots[2].bytes, 4004U);
}

TEST(BufferLayoutTest, OnAHostOutputsLieHalfAPageFromInputs) {
  const BufferLayout layout = make_layout(three, 3);
  for (const BufferSlot& slot : layout.slots) {
    EXPECT_EQ(slot.offset % 4096, slot.output ? 2048 : 0);
  }
  EXPECT_EQ(layout.input_stride % 4096, 0);
  EXPECT_EQ(layout.output_stride % 4096, 0);
}

TEST(BufferLayoutTest, OneSetKeepsEveryTensorsPlace) {
  const BufferLayout many = make_layout(three, 3, gpu_alignment);
  const BufferLayout one = many.one_set();
  EXPECT_EQ(one.input_total(), many.input_stride);
  EXPECT_EQ(one.output_total(), many.output_stride);
  for (size_t i = 0; i < three.tensors.size(); ++i) {
    EXPECT_EQ(one.slots[i].offset, many.slots[i].offset);
    EXPECT_EQ(one.slots[i].output, many.slots[i].output);
  }
  EXPECT_NE(one.slots[2].offset, make_layout(three, 1).slots[2].offset)
      << "the alignment of another memory places tensors elsewhere";
}

TEST(BufferLayoutTest, RotatesOverMoreThanTwiceTheCache) {
  const TaskSignature big = signature_of({{TensorRole::input, 1 << 20}});
  const uint64_t cache = 32U << 20U;
  const uint32_t sets = sets_beyond_cache(big, cache);
  EXPECT_GT(make_layout(big, sets).input_total(), 2 * cache);
  EXPECT_EQ(sets_beyond_cache(signature_of({{TensorRole::input, 1}}), cache), 64U);
  EXPECT_EQ(sets_beyond_cache(signature_of({{TensorRole::input, 1 << 28}}), cache), 2U);
}

TEST(SharedBuffersTest, InputsCannotBeMappedWritableByOthers) {
  const auto inputs = SharedBuffers::inputs(make_layout(three, 2));
  ASSERT_TRUE(inputs);
  EXPECT_EQ(::mmap(nullptr, 4096, PROT_WRITE, MAP_SHARED, inputs->fd(), 0), MAP_FAILED);
  inputs->tensor(1, 0)[0] = std::byte{7};
  EXPECT_EQ(inputs->tensor(1, 0)[0], std::byte{7});
  EXPECT_EQ(inputs->tensor(0, 0)[0], std::byte{0});
}

TEST(SharedBuffersTest, ZonesAndOutputsCoverASet) {
  const TaskSignature four = signature_of({{TensorRole::output, 5},
                                           {TensorRole::input, 3},
                                           {TensorRole::output, 1001},
                                           {TensorRole::output, 0}});
  for (const uint64_t alignment : {host_alignment, gpu_alignment}) {
    const BufferLayout layout = make_layout(four, 2, alignment);
    const auto zones = zones_between_outputs(layout);
    ASSERT_EQ(zones.size(), 4U);
    uint64_t end = 0;
    for (const size_t i : {0U, 2U, 3U}) {
      const ByteZone& before = zones.at(i == 0 ? 0 : i - 1);
      EXPECT_EQ(before.offset, end);
      EXPECT_GE(before.bytes, guard_bytes);
      EXPECT_EQ(before.offset + before.bytes, layout.slots[i].offset);
      end = layout.slots[i].offset + layout.slots[i].bytes;
    }
    EXPECT_EQ(zones.back().offset, end);
    EXPECT_GE(zones.back().bytes, guard_bytes);
    EXPECT_EQ(zones.back().offset + zones.back().bytes, layout.output_stride);
  }
  EXPECT_TRUE(zones_between_outputs(make_layout(signature_of({}), 1)).empty());
}

TEST(SharedBuffersTest, KeptMemoryContainsNothingOfAnEarlierTask) {
  std::shared_ptr<const MemoryFile> memory;
  const BufferLayout large = make_layout(three, 4), small = make_layout(three, 2);
  {
    const auto earlier = SharedBuffers::outputs(large, memory);
    ASSERT_TRUE(earlier);
    const auto bytes = memory->bytes();
    std::fill(bytes.begin(), bytes.end(), std::byte{0x5A});
  }
  const auto later = SharedBuffers::outputs(small, memory);
  ASSERT_TRUE(later);
  ASSERT_GT(memory->bytes().size(), small.output_total());
  EXPECT_TRUE(std::ranges::all_of(memory->bytes(), [](std::byte b) { return b == std::byte{0}; }));
}

TEST(StreamCopyTest, CopiesEveryByteOfOddSizes) {
  for (const size_t size : {0U, 1U, 15U, 16U, 63U, 64U, 1000U}) {
    std::vector<std::byte> from(size, std::byte{9});
    alignas(64) std::array<std::byte, 1024> to{};
    stream_copy(std::span(to).first(size), from);
    EXPECT_EQ(std::count(to.begin(), to.end(), std::byte{9}), static_cast<long>(size));
  }
}

}  // namespace
}  // namespace warpsmith::sandbox
