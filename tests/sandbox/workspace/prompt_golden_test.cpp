// SPDX-License-Identifier: Apache-2.0
// Compares the brief prompt byte by byte with the output of the demonstrations' generator.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "sandbox/reference/description.hpp"
#include "sandbox/workspace/task_text.hpp"

namespace warpsmith::sandbox {
namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<int64_t> numbers_in(const std::string& text) {
  std::vector<int64_t> numbers;
  std::string digits = text;
  for (char& c : digits) c = c >= '0' && c <= '9' ? c : ' ';
  std::istringstream in{digits};
  for (int64_t number = 0; in >> number;) numbers.push_back(number);
  return numbers;
}

/// The signature that a golden prompt describes, with all tensors f32. A buffer's line has the form
/// `in[0] x f32 [256, 1024]`.
TaskSignature signature_of(const std::string& prompt) {
  TaskSignature signature;
  std::istringstream lines{prompt};
  for (std::string line; std::getline(lines, line);) {
    const bool input = line.starts_with("in[");
    const size_t type = line.find(" f32 [");
    if ((!input && !line.starts_with("out[")) || type == std::string::npos) continue;
    const size_t name = line.find("] ") + 2;
    signature.tensors.push_back({line.substr(name, type - name),
                                 input ? TensorRole::input : TensorRole::output,
                                 Dtype::f32,
                                 numbers_in(line.substr(type + 5)),
                                 {}});
  }
  name_extents(signature);
  return signature;
}

Task task_named(const std::string& name) {
  Task task;
  task.id = name;
  for (const char* folder : {"train", "heldout"}) {
    const fs::path file = fs::path("configs/tasks/cpu") / folder / (name + ".py");
    if (fs::exists(file)) task.code = content_of(file);
  }
  return task;
}

TEST(PromptGoldenTest, BriefPromptsEqualTheGeneratorsBytes) {
  size_t compared = 0;
  for (const auto& entry : fs::directory_iterator("tests/golden/prompts")) {
    if (entry.path().extension() != ".txt") continue;
    const std::string golden = content_of(entry.path());
    const auto prompt = brief_prompt(task_named(entry.path().stem()), signature_of(golden), "cpu");
    ASSERT_TRUE(prompt) << prompt.error().message;
    EXPECT_EQ(*prompt, golden) << entry.path();
    ++compared;
  }
  EXPECT_GE(compared, 3U);
}

TEST(PromptGoldenTest, EveryTaskHasItsClassAndKeepsItsInputsSecret) {
  size_t tasks = 0;
  for (const char* folder : {"configs/tasks/cpu/train", "configs/tasks/cpu/heldout",
                             "configs/tasks/cuda/train", "configs/tasks/cuda/heldout"}) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() != ".py") continue;
      const auto text = reference_file(content_of(entry.path()));
      ASSERT_TRUE(text) << entry.path() << text.error().message;
      EXPECT_NE(text->find("class Model("), std::string::npos) << entry.path();
      EXPECT_EQ(text->find("get_inputs"), std::string::npos) << entry.path();
      EXPECT_EQ(text->find("get_ragged"), std::string::npos) << entry.path();
      ++tasks;
    }
  }
  EXPECT_EQ(tasks, 64U);
}

}  // namespace
}  // namespace warpsmith::sandbox
