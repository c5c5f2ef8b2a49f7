// SPDX-License-Identifier: Apache-2.0
// Suites of other formats: what is recognised, what the texts become, and what is refused.
#include "synthesis/task_formats.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "runtime/run/durable_file.hpp"
#include "synthesis/task_source.hpp"

namespace warpsmith::synthesis {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const fs::path examples = "tests/synthesis/formats";

std::string content(const fs::path& file) {
  return *read_text_file(file, max_task_bytes);
}

std::vector<std::string> ids_of(const std::vector<Task>& tasks) {
  std::vector<std::string> out;
  for (const Task& task : tasks) out.push_back(task.id);
  return out;
}

/// A copy of the examples, whose files a test changes.
class TaskFormatsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder);
    fs::copy(examples, folder, fs::copy_options::recursive);
  }
  void TearDown() override { fs::remove_all(folder); }
  void write(const fs::path& file, const std::string& text) const { std::ofstream{file} << text; }
  static std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return at == std::string::npos ? text : text.replace(at, from.size(), to);
  }
  /// What `load_task` says about a task once a file of it contains `to` instead of `from`.
  std::string complaint(const fs::path& place, const fs::path& file, const std::string& from,
                        const std::string& to) const {
    const std::string before = content(file);
    write(file, replaced(before, from, to));
    const auto task = load_task(place);
    write(file, before);
    return task ? "accepted" : task.error().message;
  }
  fs::path folder = fs::path{::testing::TempDir()} /
                    ::testing::UnitTest::GetInstance()->current_test_info()->name();
  fs::path robust = folder / "robust/damped_linear/func_forward.py",
           configuration = folder / "robust/damped_linear/config_forward.json",
           groups = folder / "groups/pointwise/soft_clip.py",
           cases = folder / "groups/pointwise/soft_clip.json";
};

TEST_F(TaskFormatsTest, AFolderMayMixFormats) {
  const auto tasks = load_tasks({folder});
  ASSERT_TRUE(tasks.has_value()) << tasks.error().message;
  EXPECT_THAT(ids_of(*tasks),
              ElementsAre("soft_clip", "damped_linear", "mean_gate_w48-1", "mean_gate_w48-5"));
  for (const Task& task : *tasks) {
    const auto again = load_task(task.source);
    ASSERT_TRUE(again.has_value()) << again.error().message;
    EXPECT_EQ(again->content_hash, task.content_hash);
  }
}

TEST_F(TaskFormatsTest, ARobustKbenchTaskGetsItsConfiguration) {
  const auto task = load_task(robust);
  ASSERT_TRUE(task.has_value()) << task.error().message;
  EXPECT_EQ(task->id, "damped_linear");
  EXPECT_THAT(task->code, testing::StartsWith(content(robust)));
  EXPECT_THAT(task->code,
              HasSubstr("settings = {\"depth\": 40, \"damping\": 0.25, \"width\": 48}\n"));
  EXPECT_THAT(
      task->code,
      HasSubstr("def get_inputs():\n    return _inputs_of(**{\"rows\": 24, \"width\": 48})"));
  EXPECT_THAT(task->code, AllOf(HasSubstr("get_inputs_2():\n    return _inputs_of(**{\"rows\": 7"),
                                Not(HasSubstr("get_inputs_3"))))
      << "another model is no shape of this one";
}

TEST_F(TaskFormatsTest, WithoutAConfigurationTheDefaultsCount) {
  fs::remove(configuration);
  const auto task = load_task(robust);
  ASSERT_TRUE(task.has_value()) << task.error().message;
  EXPECT_THAT(task->code, HasSubstr("def get_init_inputs():\n    return []"));
  EXPECT_THAT(task->code, HasSubstr("def get_inputs():\n    return _inputs_of()"));
}

TEST_F(TaskFormatsTest, EmptyFurtherSettingsDeclareNoShape) {
  write(configuration, R"({"single_input_configs": [{"rows": 3}], "single_init_configs": [{}],
      "single_shared_configs": [{}], "multi_input_configs": [{}], "multi_init_configs": [{}],
      "multi_shared_configs": [{}]})");
  EXPECT_THAT(load_task(robust)->code, Not(HasSubstr("get_inputs_2")));
}

TEST_F(TaskFormatsTest, AMalformedConfigurationIsNamed) {
  const auto said = [&](const std::string& from, const std::string& to) {
    return complaint(robust, configuration, from, to);
  };
  const std::string place = robust.string() + ": " + configuration.string() + ": ";
  EXPECT_THAT(said("{", ""), HasSubstr(place + "invalid JSON"));
  EXPECT_EQ(said("single_init_configs", "init"),
            place + "single_init_configs: expected a list, got no such member");
  EXPECT_EQ(said("[{\"rows\": 24}]", "[]"),
            place + "single_input_configs: expected an object, got []");
  EXPECT_EQ(said("{\"rows\": 24}", "24"), place + "single_input_configs: expected objects, got 24");
  EXPECT_EQ(said("[{\"width\": 48}]", "\"x\""),
            place + "single_shared_configs: expected a list, got \"x\"");
  std::string many = "{}";
  for (int k = 0; k < 99; ++k) many += ", {}";
  EXPECT_EQ(said("{\"rows\": 24}", many),
            place + "single_input_configs: expected at most 32 objects, got 100");
  write(configuration, std::string(max_task_bytes + 1, ' '));
  EXPECT_THAT(load_task(robust).error().message, HasSubstr("config_forward.json"));
}

TEST_F(TaskFormatsTest, ABackwardTaskAsksForTheGradients) {
  const fs::path backward = robust.parent_path() / "func_backward.py";
  write(backward, "class AutogradFunction: pass\n" + content(robust));
  fs::copy(configuration, robust.parent_path() / "config_backward.json");
  const auto task = load_task(backward);
  ASSERT_TRUE(task.has_value()) << task.error().message;
  EXPECT_EQ(task->id, "damped_linear-backward");
  EXPECT_THAT(task->code, HasSubstr("return _with_gradient(_inputs_of(**{\"rows\": 24"));
  EXPECT_EQ(load_tasks({robust.parent_path()})->size(), 2U);
}

TEST_F(TaskFormatsTest, TheFirstInputGroupCountsAndThoseOfOtherExtents) {
  const auto task = load_task(groups);
  ASSERT_TRUE(task.has_value()) << task.error().message;
  EXPECT_THAT(task->code, testing::StartsWith(content(groups)));
  EXPECT_THAT(task->code, HasSubstr("def get_inputs():\n    return _first_group('{\"inputs\": "));
  EXPECT_THAT(task->code, HasSubstr("[5, 64]}"));
  for (const char* other : {"float16", "[5, 64, 2]", "\"value\": 2}"}) {
    EXPECT_THAT(task->code, Not(HasSubstr(other)));
  }
  EXPECT_THAT(task->code, Not(HasSubstr("get_inputs_3")));
}

TEST_F(TaskFormatsTest, MalformedCasesAreNamedByLine) {
  const auto said = [&](const std::string& from, const std::string& to) {
    return complaint(groups, cases, from, to);
  };
  const std::string place = groups.string() + ": " + cases.string() + ": ";
  EXPECT_THAT(said("{\"inputs\"", "\"inputs\""), HasSubstr(place + "line 1: invalid JSON"));
  EXPECT_EQ(said("{\"inputs\"", "{\"outputs\""),
            place + "line 1: inputs: expected a list, got no such member");
  write(cases, "\n");
  EXPECT_EQ(load_task(groups).error().message, place + "expected a case on each line, got none");
  fs::remove(cases);
  EXPECT_EQ(load_task(groups).error().code, ErrorCode::not_found);
  EXPECT_THAT(load_task(groups).error().message, HasSubstr("soft_clip.json"));
}

TEST_F(TaskFormatsTest, AnUnknownFormatIsNamedWithWhatWasFoundAndExpected) {
  write(folder / "other.py", "class Model: pass\ndef reference(x): return x\n");
  const auto task = load_task(folder / "other.py");
  ASSERT_FALSE(task.has_value());
  EXPECT_EQ(task.error().code, ErrorCode::parse_failed);
  EXPECT_THAT(task.error().message,
              AllOf(HasSubstr("other.py: a task needs `def get_inputs` at its top level, found "
                              "class Model, def reference; "),
                    HasSubstr("robust-kbench"), HasSubstr("flashinfer-bench")));
}

TEST_F(TaskFormatsTest, AFolderWithoutTasksIsNamedWithItsFiles) {
  fs::create_directories(folder / "none/deep");
  write(folder / "none/a.cu", "");
  write(folder / "none/deep/b.cu", "");
  write(folder / "none/c.yaml", "");
  const auto tasks = find_tasks({folder / "none"});
  ASSERT_FALSE(tasks.has_value());
  EXPECT_EQ(tasks.error().code, ErrorCode::not_found);
  EXPECT_THAT(tasks.error().message, HasSubstr("found 2 *.cu, 1 *.yaml"));
}

TEST_F(TaskFormatsTest, FoldersOfOneNameGetTheFolderAboveAsPrefix) {
  const fs::path other = folder / "more/damped_linear";
  fs::create_directories(folder / "more");
  fs::copy(robust.parent_path(), other);
  write(other / "func_forward.py", content(robust) + "# changed\n");
  EXPECT_THAT(ids_of(*load_tasks({folder / "more", folder / "robust"})),
              ElementsAre("damped_linear", "robust-damped_linear"));
}

/// Changes a few bytes, or cuts the text.
std::string mutated(std::string text, std::mt19937_64& random) {
  constexpr std::string_view bytes = "{}[]\",:0-.eE\\ntu\n \x80\xff";
  for (uint64_t k = 0; k <= random() % 3; ++k) {
    const size_t at = random() % text.size();
    const char byte = bytes[random() % bytes.size()];
    switch (random() % 4) {
      case 0:
        text[at] = byte;
        break;
      case 1:
        text.insert(at, 1, byte);
        break;
      case 2:
        text.erase(at, 1 + random() % 9);
        break;
      default:
        text.insert(at, text.substr(random() % text.size(), random() % 40));
    }
    if (text.empty()) text = " ";
  }
  return text;
}

TEST_F(TaskFormatsTest, MutatedFilesAreReadOrRefusedWithTheirName) {
  const fs::path definition = folder / "traces/definitions/norm/mean_gate_w48.json",
                 workloads = folder / "traces/workloads/norm/mean_gate_w48.jsonl";
  std::mt19937_64 random{53};
  size_t refused = 0;
  for (const auto& [place, file] :
       {std::pair{robust, configuration}, std::pair{groups, cases},
        std::pair{definition, definition}, std::pair{definition, workloads}}) {
    const std::string before = content(file);
    for (int k = 0; k < 500; ++k) {
      write(file, mutated(before, random));
      const auto task = load_task(place);
      const auto found = find_tasks({file.parent_path()});
      if (task) continue;
      ++refused;
      EXPECT_THAT(task.error().message, testing::StartsWith(place.string() + ": "));
    }
    write(file, before);
  }
  EXPECT_GT(refused, 500U);
}

}  // namespace
}  // namespace warpsmith::synthesis
