// SPDX-License-Identifier: Apache-2.0
// Checks SKILL.md: its example compiles with the contract's flags and is right.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <sstream>

#include "runtime/process/child.hpp"
#include "sandbox/contract/cpu/cpu_contract.hpp"
#include "tests/sandbox/workspace/workspace_fixture.hpp"

namespace warpsmith::sandbox {
namespace {

std::string skill_text() {
  std::ifstream in{"sandbox/contract/cpu/SKILL.md"};
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The indented block under "## Example".
std::string example() {
  std::istringstream lines{skill_text()};
  std::string code;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    inside = inside || line.starts_with("## Example");
    if (inside && line.starts_with("    ")) code += line.substr(4) + '\n';
  }
  return code;
}

struct CloseLibrary {
  void operator()(void* library) const { (void)::dlclose(library); }
};

class SkillTest : public testing::Test {
 protected:
  std::filesystem::path path(const char* name) const { return folder_.path() / name; }

  ChildExit compile() const {
    std::ofstream(path(cpu_header_file)) << cpu_header_text;
    std::ofstream(path(cpu_source_file)) << example();
    ChildSpec spec{.argv = {"g++"}, .directory = folder_.path().string()};
    for (const auto& flags : {cpu_compile_flags(), cpu_link_flags()}) {
      spec.argv.insert(spec.argv.end(), flags.begin(), flags.end());
    }
    for (const char* more : {cpu_source_file, "-o", "kernel.so", "-lmvec", "-lm"}) {
      spec.argv.emplace_back(more);
    }
    auto child = Child::start(spec);
    return child ? child->wait(Deadline::after(std::chrono::seconds{50})) : ChildExit{};
  }

  test_support::TemporaryFolder folder_;
};

TEST_F(SkillTest, ExampleCompilesAndIsRight) {
  const ChildExit compiled = compile();
  ASSERT_EQ(compiled.exit_code, 0) << compiled.err;
  const std::unique_ptr<void, CloseLibrary> library{::dlopen(path("kernel.so").c_str(), RTLD_NOW)};
  ASSERT_NE(library, nullptr) << ::dlerror();
  using Solve = void (*)(const void* const*, void* const*, const int64_t*);
  const auto solve = reinterpret_cast<Solve>(::dlsym(library.get(), cpu_entry_point));
  ASSERT_NE(solve, nullptr);

  alignas(64) const std::array<float, 4> x{3, 4, 0, -2};  // rows {3, 4} and {0, -2}
  alignas(64) std::array<float, 4> y{};
  const std::array<const void*, 1> in{x.data()};
  const std::array<void*, 1> out{y.data()};
  const std::array<int64_t, 2> dims{2, 2};
  solve(in.data(), out.data(), dims.data());
  const std::array<float, 2> root{std::sqrt(12.5F), std::sqrt(2.0F)};
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(y.at(i), x.at(i) / root.at(i / 2), 1e-5) << i;
}

TEST_F(SkillTest, NamesEveryFlagOfTheContract) {
  const std::string text = skill_text();
  for (const std::string& flag : cpu_compile_flags()) {
    EXPECT_NE(text.find(flag), std::string::npos) << flag;
  }
  EXPECT_LE(std::ranges::count(text, '\n'), 120);
}

}  // namespace
}  // namespace warpsmith::sandbox
