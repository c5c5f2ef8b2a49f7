// SPDX-License-Identifier: Apache-2.0
// Exported packages in a folder, and the Python that imports them.
#pragma once

#include <gtest/gtest.h>

#include <fstream>

#include "commands/optimize/export_package.hpp"
#include "runtime/environment.hpp"
#include "runtime/process/child.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::commands {

class ExportFixture : public testing::Test {
 protected:
  void SetUp() override {
    std::error_code error;
    if (!std::filesystem::exists(python_interpreter(), error)) {
      GTEST_SKIP() << "no Python environment";
    }
  }

  void write(const ExportedKernel& kernel) const {
    for (const auto& [name, text] : export_package(kernel)) {
      std::filesystem::create_directories((folder_.path() / name).parent_path());
      std::ofstream{folder_.path() / name} << text;
    }
  }

  ChildExit python(const std::vector<std::string>& arguments) const {
    ChildSpec spec;
    spec.argv = {python_interpreter(), "-B"};
    spec.argv.insert(spec.argv.end(), arguments.begin(), arguments.end());
    spec.directory = folder_.path();
    auto child = Child::start(spec);
    if (!child) throw std::runtime_error(child.error().message);
    return child->wait(Deadline::after(std::chrono::minutes{10}));
  }

 private:
  test_support::TemporaryFolder folder_;
};

}  // namespace warpsmith::commands
