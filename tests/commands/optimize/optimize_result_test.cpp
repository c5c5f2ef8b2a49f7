// SPDX-License-Identifier: Apache-2.0
#include "commands/optimize/optimize_result.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runtime/run/durable_file.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::commands {
namespace {

/// The report of one promoted kernel, written while each service fails; Ctrl-C is what ended it if
/// `stops`.
OptimizeReport written_report(bool stops, const std::filesystem::path& place) {
  std::filesystem::create_directories(place);
  bool stopped = false;
  const ResultFolder folder{place};
  const SandboxBackendFactory service = [&]() -> Result<std::unique_ptr<sandbox::Backend>> {
    stopped = stops;
    return fail(ErrorCode::infrastructure, "the service ended");
  };
  const std::vector<DeclaredShape> shapes{{"get_inputs", {}}};
  const std::vector<FoundSubmission> users,
      found{{"fast.cpp", "fast.cpp", "key", {"t", "cpu", {{"kernel.cpp", ""}}}, {}}};
  OptimizeReport report;
  report.shapes = {"get_inputs"};
  report.candidates = {{"fast.cpp", AttemptRole::candidate, "key", "fast.cpp", {}}};
  report.promotion.winner = 0;
  const auto written = write_result(
      {folder, service, shapes, found, users, [&] { return stopped; }, std::chrono::minutes{1}, ""},
      report);
  EXPECT_TRUE(written) << written.error().message;
  return report;
}

TEST(OptimizeResultTest, AStopWhileTheResultIsWrittenIsSaid) {
  const test_support::TemporaryFolder folder;
  const OptimizeReport report = written_report(/*stops=*/true, folder.path() / "result");
  EXPECT_TRUE(report.stopped);
  EXPECT_EQ(report.profile.text, "none: stopped before it was made; --resume makes it");
  EXPECT_EQ(report.export_note, "stopped before it was written; --resume writes it");
  EXPECT_EQ(result_line(report),
            "stopped: 1 of 1 candidates have a verdict; promoted so far: fast.cpp");
  const auto text = read_text_file(folder.path() / "result/report.json", 1U << 20U).value();
  EXPECT_EQ(nlohmann::json::parse(text)["stopped"], true);
}

TEST(OptimizeResultTest, AFailureIsNoStop) {
  const test_support::TemporaryFolder folder;
  const OptimizeReport report = written_report(/*stops=*/false, folder.path() / "result");
  EXPECT_FALSE(report.stopped);
  EXPECT_EQ(report.profile.text, "none: the service ended");
  EXPECT_EQ(report.export_note, "export: the service ended");
}

}  // namespace
}  // namespace warpsmith::commands
