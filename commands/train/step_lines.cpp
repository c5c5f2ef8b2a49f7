// SPDX-License-Identifier: Apache-2.0
#include "commands/train/step_lines.hpp"

#include <fcntl.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace warpsmith::commands {

Result<StepLines> StepLines::open(const std::filesystem::path& path, int64_t steps) {
  std::ifstream before{path};
  std::string kept, line;
  for (int64_t step = 0; step < steps && std::getline(before, line); ++step) kept += line + '\n';
  if (auto written = write_file_durably(path, kept); !written) {
    return tl::unexpected(written.error());
  }
  auto file = open_file(path, O_WRONLY | O_APPEND);
  if (!file) return tl::unexpected(std::move(file.error()));
  return StepLines{path, std::move(*file)};
}

Result<void> StepLines::add(int64_t step, const DataStep& done) {
  nlohmann::json line(done.figures);
  line["step"] = step;
  return write_all(file_, line.dump() + '\n', path_);
}

Result<void> SkipLimit::note(int64_t number, const DataStep& step) {
  in_a_row_ = step.skipped ? in_a_row_ + 1 : 0;
  if (in_a_row_ < most_) return {};
  return fail(ErrorCode::infrastructure,
              "step " + std::to_string(number) + ": " + step.text + "; " +
                  std::to_string(in_a_row_) +
                  " steps in a row had gradients that are not finite, as learner.max_skipped "
                  "allows no more; lower the stage's learning_rate");
}

}  // namespace warpsmith::commands
