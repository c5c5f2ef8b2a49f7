// SPDX-License-Identifier: Apache-2.0
#include "synthesis/task_source.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace warpsmith::synthesis {
namespace {

namespace fs = std::filesystem;

class TaskSourceTest : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder / "a"); }
  void TearDown() override { fs::remove_all(folder); }
  fs::path write(const std::string& name, const std::string& text) {
    std::ofstream{folder / name} << text;
    return folder / name;
  }
  static std::string task(const std::string& body) {
    return "import torch\nclass Model(torch.nn.Module):\n  " + body +
           "\ndef get_inputs():\n  return []\ndef get_init_inputs():\n  return []\n";
  }
  fs::path folder = fs::path{::testing::TempDir()} /
                    ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(TaskSourceTest, LoadsEveryPythonFileOfAFolderInOrder) {
  write("b.py", task("x = 1"));
  write("a/c.py", task("x = 2"));
  write("notes.txt", "not a task");
  const auto tasks = load_tasks({folder});
  ASSERT_TRUE(tasks.has_value()) << tasks.error().message;
  ASSERT_EQ(tasks->size(), 2U);
  EXPECT_EQ(tasks->at(0).id, "c");
  EXPECT_EQ(tasks->at(1).id, "b");
  EXPECT_EQ(tasks->at(1).content_hash.size(), 64U);
}

TEST_F(TaskSourceTest, EqualNamesGetTheirFolderAsPrefix) {
  write("b.py", task("x = 1"));
  write("a/b.py", task("x = 2"));
  const auto tasks = load_tasks({folder});
  ASSERT_TRUE(tasks.has_value());
  EXPECT_NE(tasks->at(0).id, tasks->at(1).id);
}

TEST_F(TaskSourceTest, EqualContentsAreRefusedWithBothNames) {
  write("b.py", task("x = 1"));
  write("c.py", task("x = 1"));
  const auto tasks = load_tasks({folder});
  ASSERT_FALSE(tasks.has_value());
  EXPECT_NE(tasks.error().message.find("b.py"), std::string::npos);
  EXPECT_NE(tasks.error().message.find("c.py"), std::string::npos);
}

TEST_F(TaskSourceTest, AFileNamedTwiceIsRefused) {
  write("b.py", task("x = 1"));
  const auto tasks = load_tasks({folder, folder / "b.py"});
  ASSERT_FALSE(tasks.has_value());
  EXPECT_NE(tasks.error().message.find("b.py: named twice"), std::string::npos);
}

TEST_F(TaskSourceTest, FilesWithoutATaskAreListedSeparately) {
  write("a.py", "x = 1\n");
  write("b.py", task("x = 1"));
  write("c.py", task("x = 1"));
  const auto found = find_tasks({folder});
  ASSERT_TRUE(found.has_value()) << found.error().message;
  ASSERT_EQ(found->tasks.size(), 1U);
  EXPECT_EQ(found->tasks[0].id, "b");
  ASSERT_EQ(found->refused.size(), 2U);
  EXPECT_EQ(found->refused[0].file.stem(), "a");
  EXPECT_EQ(found->refused[0].why.code, ErrorCode::parse_failed);
  EXPECT_EQ(found->refused[1].why.code, ErrorCode::already_exists);
  EXPECT_FALSE(find_tasks({folder / "none.py"}));
}

TEST_F(TaskSourceTest, FileWithoutModelIsRefusedByName) {
  const auto file = write("b.py", "def get_inputs(): pass\ndef get_init_inputs(): pass\n");
  const auto loaded = load_task(file);
  ASSERT_FALSE(loaded.has_value());
  EXPECT_EQ(loaded.error().code, ErrorCode::parse_failed);
  EXPECT_NE(loaded.error().message.find("class Model"), std::string::npos);
}

TEST_F(TaskSourceTest, ReadsTheDeviceThatATaskNames) {
  const auto device_of = [&](const std::string& line) {
    return load_task(write("b.py", line + '\n' + task("x = 1")));
  };
  EXPECT_EQ(device_of("")->device, DeviceClass::cpu);
  EXPECT_EQ(device_of("DEVICE = \"cpu\"")->device, DeviceClass::cpu);
  EXPECT_EQ(device_of("DEVICE = \"cuda\"")->device, DeviceClass::cuda);
  EXPECT_EQ(device_of("DEVICE = \"cuda\"\r")->device, DeviceClass::cuda);
  EXPECT_EQ(device_of("  DEVICE = \"cuda\"")->device, DeviceClass::cpu);
  EXPECT_EQ(device_of("\xef\xbb\xbf"
                      "DEVICE = \"cuda\"")
                ->device,
            DeviceClass::cuda);
  const auto unknown = device_of("DEVICE = \"tpu\"");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().code, ErrorCode::parse_failed);
  EXPECT_THAT(unknown.error().message, testing::HasSubstr("b.py: DEVICE: expected"));
}

TEST_F(TaskSourceTest, ReadsTheLaneThatATaskNames) {
  const auto lane_of = [&](const std::string& line) {
    return load_task(write("b.py", line + '\n' + task("x = 1")));
  };
  EXPECT_EQ(lane_of("")->lane, PrecisionLane::fp32_strict);
  EXPECT_EQ(lane_of("LANE = \"fp32-strict\"")->lane, PrecisionLane::fp32_strict);
  EXPECT_EQ(lane_of("LANE = \"tf32-allowed\"")->lane, PrecisionLane::tf32_allowed);
  EXPECT_EQ(lane_of("LANE = \"tf32-allowed\"\r")->lane, PrecisionLane::tf32_allowed);
  const auto unknown = lane_of("LANE = \"bf16\"");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().code, ErrorCode::parse_failed);
  EXPECT_THAT(unknown.error().message, testing::HasSubstr("b.py: LANE: expected"));
}

TEST_F(TaskSourceTest, EveryShippedTaskNamesTheDeviceOfItsFolder) {
  for (const auto& [device, kind] :
       {std::pair{"cpu", DeviceClass::cpu}, std::pair{"cuda", DeviceClass::cuda}}) {
    for (const auto& [split, count] : {std::pair{"train", 24U}, std::pair{"heldout", 8U}}) {
      const auto tasks = load_tasks({fs::path{"configs/tasks"} / device / split});
      ASSERT_TRUE(tasks.has_value()) << tasks.error().message;
      EXPECT_EQ(tasks->size(), count) << device << ' ' << split;
      for (const Task& task : *tasks) EXPECT_EQ(task.device, kind) << task.source;
    }
  }
}

TEST_F(TaskSourceTest, AnInvalidOptionIsNamedByFileAndLine) {
  const auto file = write("b.py", task("x = 1") + "custom_kernels_only = maybe\n");
  const auto loaded = load_task(file);
  ASSERT_FALSE(loaded.has_value());
  EXPECT_NE(loaded.error().message.find("b.py: line 8: custom_kernels_only"), std::string::npos)
      << loaded.error().message;
}

TEST_F(TaskSourceTest, HugeFileMissingFileAndEmptyFolderAreRefused) {
  const auto file = write("b.py", std::string(max_task_bytes + 1, '#'));
  EXPECT_EQ(load_task(file).error().code, ErrorCode::parse_failed);
  EXPECT_EQ(load_task(file.parent_path()).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(load_tasks({folder / "none"}).error().code, ErrorCode::not_found);
  EXPECT_EQ(load_tasks({folder / "a"}).error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace warpsmith::synthesis
