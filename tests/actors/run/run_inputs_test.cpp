// SPDX-License-Identifier: Apache-2.0
// Configurations that are well-formed, but impossible with their model or for training.
#include <gtest/gtest.h>

#include <filesystem>

#include "actors/run/run_inputs.hpp"
#include "actors/tools/tool_executor.hpp"
#include "policy/generate/cuda/cuda_engine.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::actors {
namespace {

RunConfig config(const std::vector<std::string>& overrides) {
  auto loaded = load_run_config("configs/quickstart.toml", overrides);
  if (!loaded) throw std::runtime_error(loaded.error().message);
  return *loaded;
}

ToolExecutorSettings tools_of(const RunInputs& inputs) {
  return tool_executor_settings(inputs.config, inputs.skill, inputs.scratch, inputs.ender);
}

TEST(RunInputsTest, TrajectoriesBeyondTheModelsPositionsAreRefused) {
  const RunConfig fits = config({"agent.max_tokens=2048"});
  EXPECT_TRUE(load_inputs(fits, fits.model.folder));
  const RunConfig longer = config({"agent.max_tokens=2049"});
  const auto inputs = load_inputs(longer, longer.model.folder);
  ASSERT_FALSE(inputs);
  EXPECT_EQ(inputs.error().code, ErrorCode::invalid_config);
  EXPECT_NE(inputs.error().message.find("agent.max_tokens: expected at most"), std::string::npos);
  EXPECT_NE(inputs.error().message.find("(2048), got 2049"), std::string::npos);
}

TEST(RunInputsTest, HeldOutTaskWithTheContentOfATrainingTaskIsRefused) {
  const RunConfig apart = config({});
  EXPECT_TRUE(check_held_out(load_inputs(apart, apart.model.folder).value()));
  const test_support::TemporaryFolder folder;
  const std::filesystem::path task = "configs/tasks/cpu/train/rms_norm.py";
  const auto copy = folder.path() / "renamed.py";
  std::filesystem::copy_file(task, copy);
  const RunConfig leaks = config({"synthesis.held_out=[\"" + copy.string() + "\"]"});
  const auto checked = check_held_out(load_inputs(leaks, leaks.model.folder).value());
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, ErrorCode::invalid_config);
  for (const std::string& part : {copy.string(), task.string(), std::string{"remove one"}}) {
    EXPECT_NE(checked.error().message.find(part), std::string::npos) << checked.error().message;
  }
}

TEST(RunInputsTest, EveryShippedSuiteStartsUnchanged) {
  size_t suites = 0;
  for (const auto& entry : std::filesystem::directory_iterator("configs/suites")) {
    if (entry.path().extension() != ".toml") continue;
    const auto loaded = load_run_config(entry.path(), {});
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_TRUE(check_evaluable(*loaded)) << entry.path();
    const auto inputs = load_inputs(*loaded, loaded->model.folder);
    EXPECT_TRUE(inputs) << entry.path() << ": " << inputs.error().message;
    ++suites;
  }
  EXPECT_GE(suites, 1U);
}

TEST(RunInputsTest, AdaptersLargerThanTheirMatricesAreRefused) {
  const RunConfig fits = config({"learner.lora.rank=160"});
  EXPECT_TRUE(load_inputs(fits, fits.model.folder));
  const RunConfig larger = config({"learner.lora.rank=161"});
  const auto inputs = load_inputs(larger, larger.model.folder);
  ASSERT_FALSE(inputs);
  EXPECT_NE(inputs.error().message.find("learner.lora.rank: expected at most 160"),
            std::string::npos)
      << inputs.error().message;
}

TEST(RunInputsTest, TemperatureZeroSamplesButDoesNotTrain) {
  const RunConfig greedy = config({"generator.temperature=0"});
  EXPECT_TRUE(load_inputs(greedy, greedy.model.folder));
  const auto good = check_trainable(greedy);
  ASSERT_FALSE(good);
  EXPECT_NE(good.error().message.find("generator.temperature"), std::string::npos);
  EXPECT_TRUE(check_trainable(config({})));
}

TEST(RunInputsTest, TruncatedSamplingDoesNotTrain) {
  for (const char* setting : {"generator.top_p=0.9", "generator.top_k=50"}) {
    const auto good = check_trainable(config({setting}));
    ASSERT_FALSE(good) << setting;
    EXPECT_NE(good.error().message.find("generator.top_k and top_p: expected 0 and 1"),
              std::string::npos);
  }
}

TEST(RunInputsTest, AGpuEngineThatIsNotBuiltIsRefusedAtTheStart) {
  const RunConfig gpu = config({"generator.device=\"cuda\""});
  const auto inputs = load_inputs(gpu, gpu.model.folder);
  EXPECT_EQ(inputs.has_value(), policy::cuda_engine_is_built());
  if (inputs) return;
  EXPECT_NE(inputs.error().message.find("generator.device"), std::string::npos);
}

TEST(RunInputsTest, AgentsGetTheSkillAndTheFilesOfTheirContract) {
  const auto loaded = load_run_config("configs/h200-device.toml", {});
  ASSERT_TRUE(loaded) << loaded.error().message;
  const auto inputs = load_inputs(*loaded, loaded->model.folder);
  ASSERT_TRUE(inputs) << inputs.error().message;
  EXPECT_EQ(inputs->tasks.size(), 24U);
  EXPECT_TRUE(inputs->skill.starts_with("# Fast kernels on a GPU\n"));
  const auto device = tools_of(*inputs);
  EXPECT_EQ(device.box.contract, "device");
  EXPECT_EQ(device.box.required_file, "") << "the judge names missing files";
  const auto with_python = load_run_config("configs/h200-host.toml", {});
  ASSERT_TRUE(with_python) << with_python.error().message;
  const auto host = load_inputs(*with_python, with_python->model.folder);
  ASSERT_TRUE(host) << host.error().message;
  EXPECT_TRUE(host->skill.starts_with("# Fast PyTorch modules on a GPU\n"));
  EXPECT_EQ(tools_of(*host).box.required_file, "model_new.py");
  const RunConfig on_cpu = config({});
  const auto cpu = load_inputs(on_cpu, on_cpu.model.folder);
  ASSERT_TRUE(cpu) << cpu.error().message;
  EXPECT_TRUE(cpu->skill.starts_with("# Fast kernels on a CPU\n"));
  EXPECT_EQ(tools_of(*cpu).box.required_file, "kernel.cpp");
}

}  // namespace
}  // namespace warpsmith::actors
