// SPDX-License-Identifier: Apache-2.0
// Extensions of contract `host`: the workspace's layout, and torch's own loaders.
#include <unistd.h>

#include <iterator>
#include <sstream>

#include "sandbox/compile/cuda_toolchain.hpp"
#include "sandbox/contract/contract.hpp"
#include "tests/sandbox/support/host_fixture.hpp"

namespace warpsmith::sandbox {
namespace {

using test::model_new;
using ::testing::HasSubstr;

class HostBuildTest : public test::HostJudged {};

// A binding as the public layout has it, for the CPU.
constexpr const char* binding =
    "#include <torch/csrc/utils/pybind.h>\n"
    "#include <torch/types.h>\n"
    "#include \"../binding_registry.h\"\n"
    R"(
static torch::Tensor centre(torch::Tensor x, torch::Tensor bias, double scale) {
  auto y = torch::add(bias, x, scale);
  return y - y.mean(-1, true);
}
static void define(pybind11::module& m) {
  m.def("centre", &centre, py::arg("x"), py::arg("bias"), py::arg("scale"));
}
REGISTER_BINDING(centre, define);
REGISTER_BINDING(more, [](pybind11::module& m) { m.attr("first") = 1, m.attr("second") = 2; })
)";

/// Processes that this thread started and that run.
size_t children() {
  const std::string place = "/proc/self/task/" + std::to_string(::gettid()) + "/children";
  std::istringstream list{read_text_file(place, 1U << 16U).value_or("")};
  return static_cast<size_t>(std::distance(std::istream_iterator<std::string>{list}, {}));
}

FileSet workspace(const std::string& source = binding) {
  return {{"model_new.py", model_new("assert cuda_extension.second == 2; "
                                     "return cuda_extension.centre(x, self.bias, scale=scale)",
                                     "import cuda_extension\n")},
          {"kernels/centre_binding.cpp", source}};
}

TEST_F(HostBuildTest, AWorkspaceIsBuiltAndJudged) {
  const Verdict v = verdict(workspace());
  EXPECT_EQ(v.outcome, VerdictClass::passed) << v.feedback;
}

TEST_F(HostBuildTest, TheProcessThatRunsItStartsBeforeTheBuildEnds) {
  const SandboxOptions options = test::evaluator_options();
  auto contract = contract_named("host").open({options}).value();
  CandidateTime own(Deadline::after(std::chrono::seconds{60}), options.settings.call_timeout);
  EvaluateRequest request;
  request.task = {.id = "task", .code = test::centred_code};
  request.submission = {"task", "host", {{"other.py", "no model"}}};
  const auto started_by = [&](Request want) {
    request.want = want;
    const size_t before = children();
    const BuildContext context{request, own, [](const std::string&) {}, {}};
    (void)contract->build(context, Deadline::after(std::chrono::seconds{60}));
    return children() - before;
  };
  EXPECT_EQ(started_by(Request::compile), 0U);
  EXPECT_EQ(started_by(Request::verify), 1U);
}

TEST_F(HostBuildTest, ErrorsNameTheCandidatesLine) {
  // Without torch's headers, which take ten seconds.
  const Verdict v = verdict(workspace("\n\n\n\n\nint centre() { return sum_up(); }\n"));
  EXPECT_EQ(v.outcome, VerdictClass::compile_error);
  EXPECT_THAT(v.feedback, HasSubstr("compile_error: kernels/centre_binding.cpp:6:"));
  EXPECT_THAT(v.feedback, HasSubstr("sum_up"));
}

TEST_F(HostBuildTest, FilesOfTheHostAreNotIncluded) {
  const Verdict v = verdict(workspace("#include \"/etc/passwd\"\n"));
  EXPECT_EQ(v.outcome, VerdictClass::compile_error);
  EXPECT_THAT(v.feedback, HasSubstr("No such file"));
}

TEST_F(HostBuildTest, TheExampleCompilesWithoutAGpu) {
  if (built_with_toolkit().empty()) GTEST_SKIP() << "no nvcc on this machine";
  FileSet files = test::example_workspace();
  const Verdict v =
      verdict(files, Request::compile, test::example_text("host_workspace/reference.py"));
  EXPECT_EQ(v.outcome, VerdictClass::passed) << v.feedback;
  files["kernels/gated_sum.cu"] = test::with(files["kernels/gated_sum.cu"], "expf", "expo");
  // Without torch's headers, which take half a minute.
  files["kernels/gated_sum_binding.cpp"] = "int registers_nothing;\n";
  const Verdict wrong =
      verdict(files, Request::compile, test::example_text("host_workspace/reference.py"));
  EXPECT_EQ(wrong.outcome, VerdictClass::compile_error);
  EXPECT_THAT(wrong.feedback, HasSubstr("kernels/gated_sum.cu:7: error: "));
}

/// The indented blocks of SKILL.md that begin with their file's name.
FileSet skill_files() {
  const auto text = read_text_file("sandbox/contract/host/SKILL.md", 1U << 20U);
  if (!text) throw std::runtime_error(text.error().message);
  constexpr std::string_view mark = "    // ";
  FileSet files;
  std::string* file = nullptr;
  std::istringstream lines{*text};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(std::string(mark) + "kernels/")) file = &files[line.substr(mark.size())];
    if (!line.starts_with("    ")) file = nullptr;
    if (file != nullptr) *file += line.substr(4) + '\n';
  }
  return files;
}

TEST_F(HostBuildTest, TheExamplesOfTheSkillCompile) {
  if (built_with_toolkit().empty()) GTEST_SKIP() << "no nvcc on this machine";
  FileSet files = skill_files();
  ASSERT_EQ(files.size(), 2U);
  files["model_new.py"] =
      model_new("return cuda_extension.scale_forward(x, scale)", "import cuda_extension\n");
  const Verdict v = verdict(files, Request::compile);
  EXPECT_EQ(v.outcome, VerdictClass::passed) << v.feedback;
}

TEST_F(HostBuildTest, OneFileOfTheExampleIsJudged) {
  const Verdict v = verdict(test::example_text("host_model_new/solution/model_new.py"),
                            Request::verify, test::example_text("host_model_new/reference.py"));
  EXPECT_EQ(v.outcome, VerdictClass::passed) << v.feedback;
}

/// load_inline adds torch's headers itself, unless `options` prevent that.
std::string inlined(const std::string& source, const std::string& options = "") {
  return model_new("return built.centre(x, self.bias, scale)",
                   "from torch.utils.cpp_extension import load_inline\n"
                   "built = load_inline(name='centre', functions=['centre'], cpp_sources='''\n" +
                       source + "'''" + options + ")\n");
}

TEST_F(HostBuildTest, JudgesWhatTorchsLoadersBuild) {
  const Verdict v =
      verdict(inlined("torch::Tensor centre(torch::Tensor x, torch::Tensor bias, double scale) {\n"
                      "  auto y = torch::add(bias, x, scale);\n"
                      "  return y - y.mean(-1, true);\n"
                      "}\n"));
  EXPECT_EQ(v.outcome, VerdictClass::passed) << v.feedback;
}

/// The build jail runs model_new.py, so an end like a kill is not an internal failure.
TEST_F(HostBuildTest, ABuildThatEndsAsIfKilledDoesNotCompile) {
  const Verdict v = verdict(
      model_new("return x", "import os  # and torch.utils.cpp_extension\nos._exit(128 + 9)\n"));
  EXPECT_EQ(v.outcome, VerdictClass::compile_error) << v.feedback;
}

TEST_F(HostBuildTest, NamesWhatTorchsLoadersCannotBuild) {
  const Verdict v =
      verdict(inlined("int centre() { return sum_up(); }\n", ", no_implicit_headers=True"));
  EXPECT_EQ(v.outcome, VerdictClass::compile_error);
  EXPECT_THAT(v.feedback, HasSubstr("sum_up"));
}

}  // namespace
}  // namespace warpsmith::sandbox
