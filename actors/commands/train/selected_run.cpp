// SPDX-License-Identifier: Apache-2.0
#include "actors/commands/train/selected_run.hpp"

#include <iostream>
#include <optional>

#include "runtime/run/durable_file.hpp"

namespace warpsmith::actors {
namespace {

namespace fs = std::filesystem;

constexpr size_t max_selection_bytes = size_t{256} << 20U;

/// The stored selection of a run to resume; nullopt if there is none yet.
Result<std::optional<Selection>> stored_selection(const RunPlace& place) {
  const fs::path file = fs::path{place.resume} / "selection.json";
  std::error_code ignored;
  if (place.resume.empty() || !fs::exists(file, ignored)) return std::nullopt;
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

Result<SelectedRun> open_selected(const DataRun& run, const std::string& name,
                                  const Select& select) {
  auto stored = stored_selection(run.place);
  if (!stored) return tl::unexpected(std::move(stored.error()));
  auto selection = *stored ? Result<Selection>{std::move(**stored)} : select(run.config);
  if (!selection) return tl::unexpected(std::move(selection.error()));
  auto folder = open_data_folder(run.config, run.place, name);
  if (!folder) return tl::unexpected(std::move(folder.error()));
  const fs::path file = folder->paths().folder / "selection.json";
  if (auto written = write_file_durably(file, to_json(*selection)); !written) {
    return tl::unexpected(std::move(written.error()));
  }
  if (!run.output.quiet) print_selection(*selection);
  return SelectedRun{std::move(*folder), std::move(*selection)};
}

}  // namespace warpsmith::actors
