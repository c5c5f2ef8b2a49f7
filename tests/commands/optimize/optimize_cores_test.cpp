// SPDX-License-Identifier: Apache-2.0
// The pure parts of `optimize` except its rule of promotion.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "commands/optimize/attempt.hpp"
#include "commands/optimize/export_package.hpp"
#include "commands/optimize/optimize_report.hpp"

namespace warpsmith::commands {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Attempt full_attempt() {
  ShapeResult times;
  times.shape = "4x8";
  times.candidate_ms = 0.5;
  times.eager_ms = 1;
  times.speedup_eager = 2;
  times.speedup_eager_interval = Interval{1.9, 2.1};
  times.roofline_ms = 0.25;
  times.further = {{"cuda-graph", "no GPU", {}, {}, {}}};
  Verdict verdict;
  verdict.outcome = VerdictClass::passed;
  verdict.trust = TrustClass::commit;
  verdict.contract = "cpu";
  verdict.feedback = "<fine>";
  verdict.phase_ms = {{"verify", 3}};
  verdict.evidence = R"({"seed":"7"})";
  verdict.shapes = {times};
  return {"a", AttemptRole::user_kernel, "key", "kernels/a", {{"get_inputs", verdict}}};
}

TEST(OptimizeAttempt, ALineReadsBack) {
  const std::string line = to_json_line(full_attempt());
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto back = attempt_of(line);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(to_json_line(*back), line);
  EXPECT_TRUE(back->correct());
  EXPECT_EQ(back->shapes[0].times()->further[0].reason, "no GPU");
}

TEST(OptimizeAttempt, ADamagedLineIsRefused) {
  const std::string line = to_json_line(full_attempt());
  EXPECT_FALSE(attempt_of(line.substr(0, line.size() / 2)));
  EXPECT_FALSE(attempt_of("{}"));
  std::string other = line;
  other.replace(other.find("user_kernel"), 11, "someone");
  EXPECT_THAT(attempt_of(other).error().message,
              HasSubstr("role: expected one of the known names, found \"someone\""));
  other = line;
  other.replace(other.find("\"passed\""), 8, "\"great\"");
  EXPECT_THAT(attempt_of(other).error().message,
              HasSubstr("expected one of the known names, found \"great\""));
}

TEST(DeclaredShapes, EachFunctionReplacesGetInputs) {
  Task task;
  task.id = "op";
  task.code =
      "def get_inputs():\n    return [1]\ndef get_ragged_inputs():\n    return [2]\n"
      "def get_inputs_large(): return [3]\ndef other_get_inputs(): pass\n";
  const auto shapes = declared_shapes(task);
  ASSERT_EQ(shapes.size(), 3U);
  EXPECT_EQ(shapes[0].task.code, task.code);
  EXPECT_EQ(shapes[1].function, "get_ragged_inputs");
  EXPECT_EQ(shapes[1].task.id, "op#get_ragged_inputs");
  EXPECT_THAT(shapes[1].task.code, AllOf(HasSubstr("def get_inputs():\n    return [2]"),
                                         HasSubstr("def get_ragged_inputs():\n    return [1]")));
  EXPECT_THAT(shapes[2].task.code, AllOf(HasSubstr("def get_inputs(): return [3]"),
                                         HasSubstr("def other_get_inputs(): pass")));
  EXPECT_NE(shapes[1].task.content_hash, shapes[2].task.content_hash);
}

TEST(LineDiff, ShowsRemovedAndAddedLines) {
  EXPECT_EQ(line_diff("a\nb\nc\n", "a\nx\nc\nd\n"), " a\n-b\n+x\n c\n+d\n");
  EXPECT_EQ(line_diff("", "a"), "+a\n");
  EXPECT_EQ(line_diff("a", ""), "-a\n");
  EXPECT_EQ(line_diff("", ""), "");
}

TEST(ExportTemplate, ValuesTakeThePlacesOfPlaceholders) {
  EXPECT_EQ(fill_template("@A@ and @B@, @A@", {{"A", "1"}, {"B", "2"}}), "1 and 2, 1");
  EXPECT_EQ(fill_template("@torch.no_grad() @a@ @ @@ @A", {{"A", "1"}}),
            "@torch.no_grad() @a@ @ @@ @A");
}

TEST(ExportTemplate, ValuesAreNotSearchedForPlaceholders) {
  EXPECT_EQ(fill_template("@A@\n", {{"A", "@B@"}}), "@B@\n");
}

TEST(ExportTemplate, LinesTakeThePlaceOfALine) {
  EXPECT_EQ(fill_template("a\n@A@\nb\n", {{"A", "1\n2\n"}}), "a\n1\n2\nb\n");
  EXPECT_EQ(fill_template("a\n@A@\nb\n", {{"A", ""}}), "a\nb\n");
  EXPECT_EQ(fill_template("a\n@A@\nb\n", {{"A", "1"}}), "a\n1\nb\n");
  EXPECT_EQ(fill_template("a @A@\nb\n", {{"A", ""}}), "a \nb\n");
}

TEST(ExportTemplate, APlaceholderWithoutAValueIsAnErrorThatNamesIt) {
  const auto thrown = [](const std::string& what) {
    return testing::ThrowsMessage<std::logic_error>(what);
  };
  EXPECT_THAT([] { (void)fill_template("a @SOME_NAME@", {{"OTHER", ""}}); },
              thrown("no value for the placeholder @SOME_NAME@"));
  EXPECT_THAT([] { (void)filled_template("README.md", {}); },
              thrown("template README.md: no value for the placeholder @PACKAGE@"));
  EXPECT_THAT([] { (void)filled_template("missing", {}); }, thrown("no template missing"));
}

ExportedKernel exported() {
  ExportedKernel kernel;
  kernel.task.id = "row-sums";
  kernel.name = "warpsmith_row_sums";
  kernel.task.code = "class Model: pass\n";
  kernel.files = {{"kernel.cpp", "// kernel\n"}};
  TaskSignature signature;
  signature.tensors = {{"x", TensorRole::input, Dtype::f32, {4, 8}, {"d0", "d1"}},
                       {"s", TensorRole::parameter, Dtype::f64, {}, {}},
                       {"y0", TensorRole::output, Dtype::f32, {4}, {"d0"}},
                       {"y1", TensorRole::output, Dtype::i64, {8}, {"d1"}}};
  signature.dims = {4, 8};
  kernel.shapes = {{"get_inputs", signature, 0.5}};
  kernel.build.compile_flags = {"-O3"};
  kernel.build.headers = {{"warpsmith.h", "// header\n"}};
  return kernel;
}

TEST(ExportPackage, HoldsTheKernelTheOpAndItsTest) {
  const FileSet files = export_package(exported());
  EXPECT_EQ(files.at("warpsmith_row_sums/csrc/kernel.cpp"), "// kernel\n");
  const std::string& op = files.at("warpsmith_row_sums/csrc/op.cpp");
  EXPECT_THAT(op, HasSubstr("{{Extents{4, 8}, Extents{}},\n     {Extents{4}, Extents{8}},\n     "
                            "Extents{4, 8, 4, 8}},"));
  EXPECT_THAT(op, HasSubstr("solve(Tensor a0, Tensor a1) -> (Tensor, Tensor)"));
  EXPECT_THAT(op, HasSubstr("Tensor(y0!) y0, Tensor(y1!) y1) -> ()"));
  EXPECT_THAT(op, HasSubstr("TORCH_LIBRARY(warpsmith_row_sums, library)"));
  const auto facts = nlohmann::json::parse(files.at("warpsmith_row_sums/signature.json"));
  EXPECT_EQ(facts["shapes"][0]["extents"], nlohmann::json::parse("[[4, 8], [], [4], [8]]"));
  EXPECT_EQ(facts["tensors"][1]["dtype"], "float64");
  for (const auto& [name, text] : files) EXPECT_THAT(text, Not(HasSubstr("@PACKAGE@"))) << name;
}

TEST(ExportPackage, ItsDefaultNameTellsOperatorsAndKernelsOfOneFileNameApart) {
  ExportedKernel kernel = exported();
  const std::string name = default_package_name(kernel.task, kernel.files);
  EXPECT_TRUE(name.starts_with("warpsmith_row_sums_")) << name;
  EXPECT_TRUE(check_package_name(name));
  Task other = kernel.task;
  other.code += "# other\n";
  EXPECT_NE(default_package_name(other, kernel.files), name);
  EXPECT_NE(default_package_name(kernel.task, {{"kernel.cpp", "// other\n"}}), name);
  kernel.name.clear();
  EXPECT_TRUE(export_package(kernel).contains(name + "/op.py") ||
              export_package(kernel).contains(name + "/csrc/op.cpp"));
}

TEST(ExportPackage, ANameThatPythonOrTorchCannotUseIsRefused) {
  for (const char* name : {"", "1x", "row-sums", "a.b", "lambda", "torch"}) {
    EXPECT_FALSE(check_package_name(name)) << name;
  }
  EXPECT_TRUE(check_package_name("_Row_sums2"));
}

OptimizeReport optimized() {
  OptimizeReport report;
  report.operator_file = "op<1>.py";
  report.candidates = {full_attempt()};
  report.promotion = promote({}, report.candidates, 0.05);
  report.left_out = {{"b", {InfraKind::noise, "unstable"}}};
  report.diff = "-a<b\n+c\n";
  report.runner_up = "b";
  report.stack = "{}";
  return report;
}

TEST(OptimizeReport, JsonContainsEvidenceOfThePromotedKernel) {
  const auto out = nlohmann::json::parse(to_json(optimized()));
  EXPECT_EQ(out["promoted"]["name"], "a");
  EXPECT_EQ(out["promoted"]["shapes"][0]["evidence"]["seed"], "7");
  EXPECT_FALSE(out["candidates"][0]["shapes"][0].contains("evidence"));
  EXPECT_EQ(out["not_judged"][0]["reason"], "unstable");
  EXPECT_EQ(out["not_judged"][0]["kind"], "infra_noise");
}

TEST(OptimizeReport, ThePageEscapesAndNeedsNoOtherFile) {
  const std::string page = to_html(optimized());
  EXPECT_THAT(page, AllOf(HasSubstr("op&lt;1&gt;.py"), HasSubstr("-a&lt;b"),
                          HasSubstr("Promoted: <b>a</b>"), HasSubstr("&lt;fine&gt;")));
  EXPECT_THAT(page, AllOf(Not(HasSubstr("<script")), Not(HasSubstr("src="))));
}

TEST(OptimizeReport, TextSaysWhyNothingIsBetter) {
  OptimizeReport report = optimized();
  report.promotion = promote({}, report.candidates, 2.0);
  EXPECT_THAT(to_text(report), AllOf(HasSubstr("- a: not clearly faster"),
                                     HasSubstr("? b: no verdict: infra_noise: unstable\n"),
                                     HasSubstr("nothing better\n")));
}

TEST(OptimizeReport, ShapesThatCannotTellAreMarkedInTheTable) {
  OptimizeReport report = optimized();
  report.shapes = {"get_inputs"};
  for (Attempt& one : report.candidates) one.shapes[0].verdict.weakness = "output 0 is constant";
  const std::string line =
      "on get_inputs this task cannot tell these wrong answers from right ones: output 0 is "
      "constant";
  EXPECT_THAT(to_text(report),
              AllOf(HasSubstr("a       get_inputs *  2.00x"), HasSubstr("\n* " + line + '\n')));
  EXPECT_THAT(to_html(report), HasSubstr("Note: " + line));
}

TEST(OptimizeReport, TextHasATableOfFactorsOverAllIncumbents) {
  OptimizeReport report = optimized();
  report.shapes = {"get_inputs"};
  Attempt mine = full_attempt();
  mine.name = "mine";
  report.promotion = promote({mine}, report.candidates, 0.05);
  EXPECT_THAT(to_text(report),
              HasSubstr("times as fast as each incumbent, with the 95 % interval:\n"
                        "kernel  shape       eager                 mine\n"
                        "a       get_inputs  2.00x (1.90 to 2.10)  1.00x (0.90 to 1.11)\n"));
}

TEST(OptimizeReport, TextHasTheLinesThatTestAndImportTheExport) {
  OptimizeReport report = optimized();
  report.exported = ExportPlace{"/r/export", "warpsmith_op"};
  EXPECT_THAT(to_text(report),
              HasSubstr("promoted: a\nexport: /r/export\n"
                        "  test it:   ./warpsmith python /r/export/test_regression.py --time\n"
                        "  import it: import sys; sys.path.insert(0, \"/r/export\"); import "
                        "warpsmith_op\n"));
  EXPECT_THAT(to_html(report), HasSubstr("Export: <code>/r/export</code>"));
  report.exported.reset();
  report.export_note = "contract x has none";
  EXPECT_THAT(to_text(report), HasSubstr("no export: contract x has none\n"));
}

TEST(OptimizeReport, TextAndPageSayThatContractCpuTimesOneCore) {
  OptimizeReport report = optimized();
  report.contract = "cpu";
  report.one_core = true;
  EXPECT_THAT(to_text(report), HasSubstr("contract cpu times one core: "));
  EXPECT_THAT(to_html(report), HasSubstr("contract cpu times one core: "));
  report.one_core = false;
  EXPECT_THAT(to_text(report), Not(HasSubstr("one core")));
}

TEST(OptimizeReport, TextAndPageNameIncumbentsThatWereNotMeasured) {
  OptimizeReport report = optimized();
  FurtherResult missing;
  missing.name = "cuda-graph";
  missing.reason = "capture <failed>";
  report.candidates[0].shapes[0].verdict.shapes[0].further = {missing};
  report.promotion = promote({}, report.candidates, 0.05);
  const std::string shape = report.candidates[0].shapes[0].shape;
  EXPECT_THAT(to_text(report),
              HasSubstr("not measured: cuda-graph on " + shape + ": capture <failed>\n"));
  EXPECT_THAT(to_html(report),
              HasSubstr("Not measured: cuda-graph on " + shape + ": capture &lt;failed&gt;."));
}

TEST(OptimizeReport, JsonAndPageContainTheProfileOfThePromotedKernel) {
  OptimizeReport report = optimized();
  report.profile = {"{\"kernels\": 2}", "passed\n<eager>: gemm 2 us"};
  const auto out = nlohmann::json::parse(to_json(report));
  EXPECT_EQ(out["profile"]["kernels"], 2);
  EXPECT_EQ(out["profile_text"], report.profile.text);
  EXPECT_THAT(to_html(report), HasSubstr("&lt;eager&gt;: gemm 2 us"));
  report.profile = {"", "none"};
  EXPECT_TRUE(nlohmann::json::parse(to_json(report))["profile"].is_null());
}

TEST(OptimizeReport, AStoppedCallReportsItsProgress) {
  OptimizeReport report = optimized();
  report.stopped = true;
  report.left_out.clear();
  report.not_begun = 2;
  const std::string far = "stopped: 1 of 3 candidates have a verdict; promoted so far: a";
  EXPECT_THAT(to_text(report), HasSubstr("2 candidates not judged yet\n" + far + '\n'));
  EXPECT_THAT(to_html(report), HasSubstr(far));
  report.promotion.winner.reset();
  EXPECT_THAT(to_text(report),
              AllOf(HasSubstr("none is promoted so far"), Not(HasSubstr("nothing better"))));
}

}  // namespace
}  // namespace warpsmith::commands
