// SPDX-License-Identifier: Apache-2.0
// A workspace in a temporary folder, for the tests of this folder.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "runtime/run/remove_tree.hpp"
#include "sandbox/workspace/workspace.hpp"

namespace warpsmith::sandbox {

/// A temporary folder that its destructor removes.
class TemporaryFolder {
 public:
  /// In memory where possible, because on a busy disk these tests would take seconds.
  static std::filesystem::path quick_place() {
    const std::filesystem::path memory = "/dev/shm";
    const bool usable = ::access(memory.c_str(), W_OK) == 0;
    return usable ? memory : std::filesystem::temp_directory_path();
  }
  explicit TemporaryFolder(const std::filesystem::path& parent = quick_place()) {
    std::string name = (parent / "warpsmith-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { (void)remove_tree(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

class WorkspaceFixture : public testing::Test {
 protected:
  void SetUp() override {
    auto base = WorkspaceBase::open(outside_.path() / "base");
    ASSERT_TRUE(base) << base.error().message;
    base_ = std::make_unique<WorkspaceBase>(std::move(*base));
    auto workspace =
        base_->create("trajectory-1", {{"SKILL.md", "skill\n"}, {"task.json", "{}\n"}});
    ASSERT_TRUE(workspace) << workspace.error().message;
    workspace_ = std::make_unique<Workspace>(std::move(*workspace));
  }

  const std::filesystem::path& folder() const { return workspace_->folder(); }
  const SafeFolder& files() const { return workspace_->files(); }

  TemporaryFolder outside_;
  std::unique_ptr<WorkspaceBase> base_;
  std::unique_ptr<Workspace> workspace_;
};

}  // namespace warpsmith::sandbox
