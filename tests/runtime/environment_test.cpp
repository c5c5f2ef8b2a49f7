// SPDX-License-Identifier: Apache-2.0
#include "runtime/environment.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

namespace warpsmith {
namespace {

/// Sets a variable for one test and puts the old value back.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    setenv(name, value, 1);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() {
    if (old_) {
      setenv(name_, old_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

TEST(EnvironmentTest, SourceFolderContainsTheConfigurations) {
  const Variable home{"WARPSMITH_HOME", ""};
  EXPECT_TRUE(std::filesystem::exists(source_folder() / "configs" / "quickstart.toml"));
}

TEST(EnvironmentTest, VariablesOverrideTheBuildsDefaults) {
  const Variable home{"WARPSMITH_HOME", "/elsewhere"};
  const Variable python{"WARPSMITH_PYTHON", "/some/python"};
  const Variable sandbox{"WARPSMITH_SANDBOX", "/some/sandbox"};
  EXPECT_EQ(source_folder(), "/elsewhere");
  EXPECT_EQ(python_interpreter(), "/some/python");
  EXPECT_EQ(sandbox_program(), "/some/sandbox");
}

TEST(EnvironmentTest, CacheFollowsXdg) {
  {
    const Variable cache{"XDG_CACHE_HOME", "/c"};
    EXPECT_EQ(cache_folder(), "/c/warpsmith");
  }
  const Variable cache{"XDG_CACHE_HOME", ""};
  const Variable home{"HOME", "/h"};
  EXPECT_EQ(cache_folder(), "/h/.cache/warpsmith");
}

TEST(EnvironmentTest, ExecutableFolderExists) {
  EXPECT_TRUE(std::filesystem::is_directory(executable_folder()));
}

}  // namespace
}  // namespace warpsmith
