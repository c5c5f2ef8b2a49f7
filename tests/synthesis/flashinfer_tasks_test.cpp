// SPDX-License-Identifier: Apache-2.0
// Definitions and workloads of flashinfer-bench: what becomes of them, and a message for each
// defect.
#include "synthesis/flashinfer_tasks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "runtime/run/durable_file.hpp"
#include "synthesis/task_source.hpp"

namespace warpsmith::synthesis {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class FlashinferTasksTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder);
    fs::copy("tests/synthesis/formats/traces", folder, fs::copy_options::recursive);
  }
  void TearDown() override { fs::remove_all(folder); }
  static void write(const fs::path& file, const std::string& text) { std::ofstream{file} << text; }
  std::string number(int k) const { return definition.string() + '#' + std::to_string(k); }
  /// What `load_task` says once `file` contains `to` instead of the first `from`.
  std::string said(const fs::path& file, const std::string& from, const std::string& to) const {
    const std::string before = *read_text_file(file, max_task_bytes);
    std::string text = before;
    EXPECT_NE(text.find(from), std::string::npos) << from;
    write(file, text.replace(text.find(from), from.size(), to));
    const auto task = load_task(definition);
    write(file, before);
    if (task) return "accepted";
    EXPECT_TRUE(task.error().message.starts_with(definition.string() + ": "))
        << task.error().message;
    return task.error().message.substr(definition.string().size() + 2);
  }
  std::string in_definition(const std::string& from, const std::string& to) const {
    return said(definition, from, to);
  }
  /// Without the file's name.
  std::string in_workloads(const std::string& from, const std::string& to) const {
    const std::string message = said(workloads, from, to);
    if (message == "accepted") return message;
    EXPECT_TRUE(message.starts_with(workloads.string() + ": ")) << message;
    return message.substr(workloads.string().size() + 2);
  }
  fs::path folder = fs::path{::testing::TempDir()} /
                    ::testing::UnitTest::GetInstance()->current_test_info()->name();
  fs::path definition = folder / "definitions/norm/mean_gate_w48.json",
           workloads = folder / "workloads/norm/mean_gate_w48.jsonl";
};

TEST_F(FlashinferTasksTest, AWorkloadIsATask) {
  const auto task = load_task(number(1));
  ASSERT_TRUE(task.has_value()) << task.error().message;
  EXPECT_EQ(task->id, "mean_gate_w48-1");
  EXPECT_EQ(task->source, number(1));
  EXPECT_THAT(task->code, AllOf(HasSubstr("# mean_gate_w48: Takes the mean off each row and gates"),
                                HasSubstr("def run(x, gate, slope):"),
                                HasSubstr("def forward(self, x, gate, slope):"),
                                HasSubstr("for name in [\"y\"]]")));
  EXPECT_THAT(task->code, HasSubstr("def get_inputs():\n"
                                    "    return [torch.randn((20, 48), dtype=torch.float32), "
                                    "torch.randn((48, ), dtype=torch.float32), 0.75]\n"));
  EXPECT_THAT(task->code, Not(HasSubstr("get_inputs_")));
}

TEST_F(FlashinferTasksTest, ADefinitionByItselfDeclaresItsWorkloadsAsShapes) {
  const auto task = load_task(definition);
  ASSERT_TRUE(task.has_value()) << task.error().message;
  EXPECT_EQ(task->id, "mean_gate_w48");
  EXPECT_THAT(task->code, AllOf(HasSubstr("(20, 48)"), HasSubstr("def get_inputs_5():\n"),
                                HasSubstr("(33, 48)"), Not(HasSubstr("get_inputs_3"))));
}

TEST_F(FlashinferTasksTest, RepeatedUnsupportedAndForeignWorkloadsAreLeftOut) {
  EXPECT_THAT(places_in(definition), ElementsAre(number(1), number(5)));
  EXPECT_THAT(load_task(number(2)).error().message,
              HasSubstr("#2: no workload 2 that can be read; the first one is 1"));
  EXPECT_EQ(load_task(number(99)).error().code, ErrorCode::not_found);
}

TEST_F(FlashinferTasksTest, AWorkloadWithoutElementsIsLeftOut) {
  EXPECT_EQ(in_workloads("{\"rows\": 33}", "{\"rows\": 0}"), "accepted");
}

TEST_F(FlashinferTasksTest, AFolderListsTheFirstEightWorkloads) {
  std::string lines;
  for (int k = 1; k <= 20; ++k) {
    lines += R"({"uuid": "u", "axes": {"rows": )" + std::to_string(k) +
             R"(}, "inputs": {"slope": {"type": "scalar", "value": 1}}})" + "\r\n";
  }
  write(workloads, lines);
  const auto tasks = load_tasks({folder});
  ASSERT_TRUE(tasks.has_value()) << tasks.error().message;
  EXPECT_EQ(tasks->size(), most_shapes);
}

TEST_F(FlashinferTasksTest, OtherFilesOfASetAreNoTasks) {
  fs::create_directories(folder / "solutions");
  write(folder / "solutions/a.json", "{}");
  EXPECT_THAT(places_in(folder / "solutions/a.json"), ElementsAre());
  EXPECT_THAT(load_task(folder / "solutions/a.json").error().message,
              HasSubstr("name: expected a text, got no such member"));
}

TEST_F(FlashinferTasksTest, ProbabilitiesOfASamplerAreNormalised) {
  EXPECT_EQ(in_definition("\"norm\"", "\"sampling\""), "accepted");
  std::string text = *read_text_file(definition, max_task_bytes);
  for (const auto& [from, to] :
       {std::pair{"\"norm\"", "\"sampling\""}, std::pair{"\"x\"", "\"probs\""}}) {
    text.replace(text.find(from), std::string_view{from}.size(), to);
  }
  write(definition, text);
  EXPECT_THAT(load_task(number(1))->code,
              HasSubstr("torch.softmax(torch.randn((20, 48), dtype=torch.float32), dim=-1)"));
}

TEST_F(FlashinferTasksTest, AMalformedDefinitionIsNamed) {
  EXPECT_THAT(in_definition("{", ""), HasSubstr("invalid JSON"));
  EXPECT_EQ(in_definition("\"name\"", "\"nom\""), "name: expected a text, got no such member");
  EXPECT_EQ(in_definition("\"axes\": {", "\"axes\": [], \"x\": {"),
            "axes: expected an object, got []");
  EXPECT_EQ(in_definition("\"var\"", "\"free\""),
            R"(axes.rows: type: expected "const" or "var", got "free")");
  EXPECT_EQ(in_definition("48}", "-1}"),
            "axes.width: value: expected a whole number from 1 to 2^40, got -1");
  EXPECT_EQ(in_definition("\"value\": 48", "\"x\": 48"),
            "axes.width: value: expected a whole number from 1 to 2^40, got null");
  EXPECT_EQ(in_definition("\"shape\": [\"rows\", \"width\"]", "\"shape\": 3"),
            "inputs.x: shape: expected a list of axes, got 3");
  EXPECT_EQ(in_definition("[\"rows\", \"width\"]", "[\"rows\", \"height\"]"),
            "inputs.x: shape: expected names of axes, got \"height\"");
  EXPECT_EQ(in_definition("\"shape\": null, ", ""),
            "inputs.slope: shape: expected a list of axes, got no such member");
  EXPECT_THAT(in_definition("float32", "float8_e4m3fn"),
              AllOf(HasSubstr("inputs.x: dtype: expected float32"), HasSubstr("not supported")));
  EXPECT_EQ(in_definition("\"gate\"", "\"a gate\""),
            "inputs: expected names of arguments in Python, got \"a gate\"");
  EXPECT_EQ(in_definition("def run(", "def ran("),
            "reference: expected `def run` at its top level, found def ran");
}

TEST_F(FlashinferTasksTest, MalformedWorkloadsAreNamedByLine) {
  EXPECT_THAT(in_workloads("{", ""), HasSubstr("line 1: invalid JSON"));
  EXPECT_EQ(in_workloads("{\"rows\": 20}", "{}"), "line 1: axes: expected a value of rows, got {}");
  EXPECT_EQ(in_workloads("{\"rows\": 20}", "{\"rows\": 2.5}"),
            "line 1: axes.rows: expected a whole number from 1 to 2^40, got 2.5");
  EXPECT_EQ(in_workloads("{\"rows\": 20}", "{\"rows\": 1099511627776}"),
            "line 1: inputs.x: more than 2^40 elements");
  EXPECT_EQ(in_workloads("\"random\"", "\"ones\""),
            R"(line 1: inputs.x: type: expected "random", "scalar" or "safetensors", got "ones")");
  EXPECT_EQ(in_workloads("0.75", "\"0.75\""),
            "line 1: inputs.slope: value: expected a number, true or false, got \"0.75\"");
  EXPECT_EQ(in_workloads("{\"type\": \"random\"}", "4"),
            "line 1: inputs.x: expected an object with type, got 4");
}

TEST_F(FlashinferTasksTest, ADefinitionWithoutWorkloadsThatCanBeReadIsRefused) {
  write(workloads, R"({"axes": {"rows": 2}, "inputs": {}})"
                   "\n");
  const auto task = load_task(definition);
  ASSERT_FALSE(task.has_value());
  EXPECT_EQ(task.error().code, ErrorCode::unsupported);
  EXPECT_THAT(task.error().message,
              AllOf(HasSubstr("none of its workloads is supported; the first one: inputs.slope: a "
                              "number that is drawn")));
  EXPECT_THAT(places_in(definition), ElementsAre(definition));
  write(workloads, "\n");
  EXPECT_THAT(load_task(definition).error().message, HasSubstr("no workload of mean_gate_w48"));
  fs::remove(workloads);
  EXPECT_THAT(load_task(definition).error().message,
              HasSubstr("no such file; expected the definition's workloads"));
  fs::copy(definition, folder / "alone.json");
  EXPECT_THAT(load_task(folder / "alone.json").error().message,
              HasSubstr("beneath a folder `definitions`"));
}

}  // namespace
}  // namespace warpsmith::synthesis
