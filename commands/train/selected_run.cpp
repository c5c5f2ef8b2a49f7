// SPDX-License-Identifier: Apache-2.0
#include "commands/train/selected_run.hpp"

#include <iostream>

#include "runtime/run/durable_file.hpp"

namespace warpsmith::commands {
namespace {

namespace fs = std::filesystem;

constexpr size_t max_selection_bytes = size_t{256} << 20U;

/// The selection of a run that has a checkpoint; nullopt if it has none yet.
Result<std::optional<Selection>> stored_selection(const RunPaths& paths) {
  const auto checkpoints = CheckpointStore::open(paths.checkpoints());
  if (!checkpoints) return tl::unexpected(checkpoints.error());
  const auto steps = checkpoints->steps();
  if (!steps) return tl::unexpected(steps.error());
  if (steps->empty()) return std::nullopt;
  const fs::path file = paths.folder / "selection.json";
  const auto text = read_text_file(file, max_selection_bytes);
  if (!text) return tl::unexpected(text.error());
  auto selection = selection_from_json(*text);
  if (!selection) return fail(file.string(), selection.error());
  return std::optional{std::move(*selection)};
}

/// Prints how many are kept and rejected, and how to read one of each kind.
void print_selection(const Selection& selection) {
  std::cerr << "trajectories: " << selection_text(selection) << '\n';
  for (const SourceSelection& one : selection) {
    const std::string read = "  read one with: ./warpsmith runs trajectories " + one.run.string();
    if (!one.kept.empty()) std::cerr << read << " --show " << one.kept.front() << " (kept)\n";
    for (const auto& [reason, ids] : one.rejected) {
      std::cerr << read << " --show " << ids.front() << " (" << reason << ")\n";
    }
  }
}

}  // namespace

Result<SelectedRun> select_trajectories(const DataRun& run, const Select& select) {
  SelectedRun selected;
  if (!run.place.resume.empty()) {
    auto folder = RunFolder::open(run.place.resume, "config.toml");
    if (!folder) return tl::unexpected(std::move(folder.error()));
    auto stored = stored_selection(folder->paths());
    if (!stored) return tl::unexpected(std::move(stored.error()));
    selected.folder = std::move(*folder);
    if (*stored) {
      std::cerr << "learns from the trajectories that were selected when the run began\n";
      selected.selection = std::move(**stored);
      return selected;
    }
  }
  auto selection = select(run.config);
  if (!selection) return tl::unexpected(std::move(selection.error()));
  selected.selection = std::move(*selection);
  return selected;
}

Result<RunFolder> open_selected(SelectedRun selected, const DataRun& run, const std::string& name) {
  auto folder = selected.folder ? Result<RunFolder>{std::move(*selected.folder)}
                                : open_data_folder(run.config, run.place, name);
  if (!folder) return folder;
  const fs::path file = folder->paths().folder / "selection.json";
  if (auto written = write_file_durably(file, to_json(selected.selection)); !written) {
    return tl::unexpected(std::move(written.error()));
  }
  if (!run.output.quiet) print_selection(selected.selection);
  return folder;
}

}  // namespace warpsmith::commands
