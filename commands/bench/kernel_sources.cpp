// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/kernel_sources.hpp"

#include <set>

#include "actors/base/script.hpp"
#include "runtime/environment.hpp"
#include "runtime/run/durable_file.hpp"
#include "runtime/run/owned_folder.hpp"
#include "synthesis/task_source.hpp"

namespace warpsmith::commands {
using namespace actors;
namespace {

namespace fs = std::filesystem;

constexpr size_t max_source_bytes = size_t{4} << 20U;

std::vector<std::string> words_of(const KernelRequest& request, const fs::path& output) {
  std::vector<std::string> words{"--contract", request.contract, "--output", output.string(),
                                 "--tasks"};
  words.insert(words.end(), request.folders.begin(), request.folders.end());
  if (!request.styles.empty()) words.emplace_back("--styles");
  words.insert(words.end(), request.styles.begin(), request.styles.end());
  if (request.skip_unknown) words.emplace_back("--skip-unknown");
  return words;
}

/// Reads one style of a task: STYLE.cpp, or a folder of files.
Result<FileSet> read_style(const fs::path& place) {
  FileSet files;
  if (!fs::is_directory(place)) {
    TRY(auto text, read_text_file(place, max_source_bytes));
    files["kernel.cpp"] = std::move(text);
    return files;
  }
  for (const fs::directory_entry& file : fs::directory_iterator(place)) {
    TRY(auto text, read_text_file(file.path(), max_source_bytes));
    files[file.path().filename().string()] = std::move(text);
  }
  return files;
}

Result<KernelSources> read_sources(const fs::path& output) {
  KernelSources sources;
  for (const fs::directory_entry& task : fs::directory_iterator(output)) {
    std::set<fs::path> styles;  // in the same order for every task
    for (const fs::directory_entry& style : fs::directory_iterator(task)) {
      styles.insert(style.path());
    }
    for (const fs::path& style : styles) {
      TRY(auto files, read_style(style));
      sources[task.path().filename().string()].push_back(std::move(files));
    }
  }
  return sources;
}

}  // namespace

Result<KernelSources> write_kernels(const KernelRequest& request) {
  TRY(const auto scratch, OwnedFolder::make_temporary());
  TRY_VOID(run_script(source_folder() / "scripts/write_kernels.py",
                      words_of(request, scratch.path()), std::chrono::minutes{3}));
  return read_sources(scratch.path());
}

Result<KernelTasks> tasks_with_kernels(const std::string& contract, std::string folder,
                                       const std::vector<std::string>& styles) {
  const bool on_cpu = contract == "cpu";
  if (folder.empty()) {
    folder = (source_folder() / "configs/tasks" / (on_cpu ? "cpu" : "cuda") / "train").string();
  }
  TRY(auto tasks, synthesis::load_tasks({folder}));
  TRY(auto sources,
      write_kernels(
          {.contract = contract, .folders = {folder}, .styles = styles, .skip_unknown = !on_cpu}));
  std::erase_if(tasks, [&](const Task& task) { return !sources.contains(task.id); });
  if (tasks.empty()) return fail(ErrorCode::not_found, folder + ": no task with kernels");
  return KernelTasks{std::move(tasks), std::move(sources)};
}

}  // namespace warpsmith::commands
