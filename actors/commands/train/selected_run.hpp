// SPDX-License-Identifier: Apache-2.0
// The folder of a run that learns from collected trajectories, with its selection of them.
#pragma once

#include <functional>

#include "actors/commands/train/data_run.hpp"
#include "actors/run/selection.hpp"

namespace warpsmith::actors {

struct SelectedRun {
  RunFolder folder;
  Selection selection;
};

using Select = std::function<Result<Selection>(const RunConfig&)>;

/// A new run selects before it makes its folder, so that bad input leaves nothing behind. A resumed
/// run has the selection that it began with. `name` as in `open_data_folder`.
Result<SelectedRun> open_selected(const DataRun& run, const std::string& name,
                                  const Select& select);

}  // namespace warpsmith::actors
