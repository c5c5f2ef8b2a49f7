// SPDX-License-Identifier: Apache-2.0
// A workspace in a temporary folder, for the tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include "sandbox/workspace/workspace.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::sandbox {

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

  // In memory because on a busy disk these tests would take seconds.
  test_support::TemporaryFolder outside_ = test_support::TemporaryFolder::in_memory();
  std::unique_ptr<WorkspaceBase> base_;
  std::unique_ptr<Workspace> workspace_;
};

}  // namespace warpsmith::sandbox
