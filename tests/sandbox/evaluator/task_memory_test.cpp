// SPDX-License-Identifier: Apache-2.0
#include "sandbox/evaluator/task_cache.hpp"

#include <gtest/gtest.h>

namespace warpsmith::sandbox {
namespace {

void add_to_all(TaskMemory& memory, const std::string& key) {
  memory.records[key], memory.signatures[key], memory.baseline_kernels[key], memory.further[key];
}

TEST(TaskMemoryTest, KeepsItemsThatFit) {
  TaskMemory memory;
  for (size_t i = 0; i + 1 < TaskMemory::most; ++i) add_to_all(memory, std::to_string(i));
  memory.evict_full_maps();
  EXPECT_EQ(memory.records.size(), TaskMemory::most - 1);
  EXPECT_EQ(memory.further.size(), TaskMemory::most - 1);
}

TEST(TaskMemoryTest, NoMapGrowsOverManyTasks) {
  TaskMemory memory;
  for (size_t i = 0; i < 10 * TaskMemory::most; ++i) {
    memory.evict_full_maps();
    add_to_all(memory, std::to_string(i));
    EXPECT_LE(memory.records.size(), TaskMemory::most);
    EXPECT_LE(memory.signatures.size(), TaskMemory::most);
    EXPECT_LE(memory.baseline_kernels.size(), TaskMemory::most);
    EXPECT_LE(memory.further.size(), TaskMemory::most);
  }
}

TEST(TaskMemoryTest, OnlyAFullMapIsEmptied) {
  TaskMemory memory;
  for (size_t i = 0; i < TaskMemory::most; ++i) memory.signatures[std::to_string(i)];
  memory.records["kept"];
  memory.evict_full_maps();
  EXPECT_TRUE(memory.signatures.empty());
  EXPECT_EQ(memory.records.size(), 1U);
}

}  // namespace
}  // namespace warpsmith::sandbox
