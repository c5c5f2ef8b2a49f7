// SPDX-License-Identifier: Apache-2.0
// The folder of a run that learns from collected trajectories, with its selection of them.
#pragma once

#include <functional>
#include <optional>

#include "commands/train/data_run.hpp"
#include "actors/run/selection.hpp"

namespace warpsmith::commands {
using namespace actors;

struct SelectedRun {
  std::optional<RunFolder> folder;  // of a resumed run; a new one has none yet
  Selection selection;
};

using Select = std::function<Result<Selection>(const RunConfig&)>;

/// Selects what the run learns from. A run with a checkpoint has the selection that it began with;
/// before its first one nothing was learned, so it selects anew. Writes nothing.
Result<SelectedRun> select_trajectories(const DataRun& run, const Select& select);

/// Once a stage could be made of the selection: the run's folder, with the selection in it. So a
/// selection that is too small leaves nothing behind. `name` as in `open_data_folder`.
Result<RunFolder> open_selected(SelectedRun selected, const DataRun& run, const std::string& name);

}  // namespace warpsmith::commands
