// SPDX-License-Identifier: Apache-2.0
#include "actors/learner/checkpoint_writer.hpp"

#include "actors/protocol/errors.hpp"
#include "actors/protocol/inspect.hpp"
#include "policy/learn/trainer_checkpoint.hpp"

namespace warpsmith::actors {

caf::result<std::string> CheckpointWriterState::write(const LocalSnapshot& taken) {
  const auto written = place_.store->write(
      taken.snapshot->version(), [&](const std::filesystem::path& folder) -> Result<void> {
        if (auto saved = taken.snapshot->save(folder); !saved) return saved;
        return place_.copy_fixed_files(folder);
      });
  if (!written) return to_caf(written.error());
  log::info(label() + ": " + written->folder.string());
  return written->folder.string();
}

CheckpointWriterActor::behavior_type checkpoint_writer(CheckpointWriterState::Self self,
                                                       Identity identity, CheckpointPlace place) {
  adopt(self, std::move(identity));
  self->state.start(std::move(place));
  return {on(self, "status", &CheckpointWriterState::status),
          on(self, "write", &CheckpointWriterState::write)};
}

}  // namespace warpsmith::actors
