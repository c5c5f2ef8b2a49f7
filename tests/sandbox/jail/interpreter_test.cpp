// SPDX-License-Identifier: Apache-2.0
// What a jail shows of Python interpreters in a user's home. A shell takes the interpreter's place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "sandbox/jail/presets.hpp"
#include "tests/sandbox/support/sandbox_fixture.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::sandbox {
namespace {

namespace fs = std::filesystem;
using testing::hang_guard;
using ::testing::HasSubstr;

class InterpreterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const char* home = std::getenv("HOME")) before_ = home;
    (void)::setenv("HOME", folder_.path().c_str(), 1);
    write("secret", "secret");
  }
  void TearDown() override {
    (void)(before_.empty() ? ::unsetenv("HOME") : ::setenv("HOME", before_.c_str(), 1));
  }

  fs::path home(const std::string& path = "") const { return folder_.path() / path; }
  void write(const std::string& path, const std::string& text) const {
    fs::create_directories(home(path).parent_path());
    std::ofstream(home(path)) << text;
  }
  void link(const std::string& path, const fs::path& target) const {
    fs::create_directories(home(path).parent_path());
    fs::create_symlink(target, home(path));
  }
  /// An installation with its program and library.
  void install(const std::string& prefix) const {
    write(prefix + "/lib/python3.11/os.py", "");
    fs::create_directories(home(prefix + "/bin"));
    fs::copy_file("/bin/sh", home(prefix + "/bin/python3.11"));
  }
  /// What a command prints in the jail.
  static std::string printed_by(const fs::path& python, const std::string& command) {
    auto spec = worker_jail(python);
    if (!spec) return spec.error().message;
    spec->argv.insert(spec->argv.end(), {"-c", command});
    const auto exit = run_jailed(*spec, hang_guard());
    return exit ? exit->out + exit->err : exit.error().message;
  }
  std::string listing_with(const fs::path& python) const {
    return printed_by(python, "cd " + home().string() + " && find . | LC_ALL=C sort | tr '\n' ' '");
  }

 private:
  std::string before_;
  test_support::TemporaryFolder folder_;
};

TEST_F(InterpreterTest, AHomeThatHoldsALinkStaysHidden) {
  install("py");
  write("py/notes", "private");
  link("bin/python", "../py/bin/python3.11");
  EXPECT_EQ(listing_with(home("bin/python")),
            ". ./bin ./bin/python ./py ./py/bin ./py/bin/python3.11 ./py/lib ./py/lib/python3.11 "
            "./py/lib/python3.11/os.py ");
}

TEST_F(InterpreterTest, AnEnvironmentIsShownWithWhatItWasMadeFrom) {
  install("py");
  link("bin/python", home("py/bin/python3.11"));
  write("venv/pyvenv.cfg", "home = " + home("bin").string() + "\n");
  write("venv/share/notes", "private");
  link("venv/bin/python3", home("bin/python"));
  link("venv/bin/python", "python3");
  EXPECT_EQ(listing_with(home("venv/bin/python")),
            ". ./bin ./bin/python ./py ./py/bin ./py/bin/python3.11 ./py/lib ./py/lib/python3.11 "
            "./py/lib/python3.11/os.py ./venv ./venv/bin ./venv/bin/python ./venv/bin/python3 "
            "./venv/pyvenv.cfg ");
}

TEST_F(InterpreterTest, AnEnvironmentWithACopyNamesItsOriginal) {
  install("py");
  write("venv/pyvenv.cfg", "version = 3\nhome = " + home("py/bin").string() + "\n");
  fs::create_directories(home("venv/bin"));
  fs::copy_file("/bin/sh", home("venv/bin/python3.11"));
  EXPECT_THAT(listing_with(home("venv/bin/python3.11")), HasSubstr("./py/lib/python3.11/os.py"));
}

TEST_F(InterpreterTest, AnInstallationSpreadOverAHomeIsRefused) {
  install(".");
  const std::string refusal = printed_by(home("bin/python3.11"), "true");
  EXPECT_THAT(refusal, HasSubstr("installed into " + home().parent_path().string()));
  EXPECT_THAT(refusal, HasSubstr("make a virtual environment"));
}

TEST_F(InterpreterTest, AProgramWithoutALibraryIsRefused) {
  write("shims/python", "#!/bin/sh\n");
  EXPECT_THAT(printed_by(home("shims/python"), "true"), HasSubstr("name the interpreter itself"));
}

TEST_F(InterpreterTest, TheSystemsInterpreterAddsNothing) {
  JailSpec spec;
  spec.read_only = {{"/usr", "/usr"}, {"/bin", "/bin"}};
  ASSERT_TRUE(show_interpreter(spec, "/usr/bin/python3"));
  ASSERT_TRUE(show_interpreter(spec, "/bin/python3"));
  EXPECT_EQ(spec.read_only.size(), 2U);
  EXPECT_TRUE(spec.links.empty());
}

}  // namespace
}  // namespace warpsmith::sandbox
