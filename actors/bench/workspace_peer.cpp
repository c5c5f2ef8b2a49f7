// SPDX-License-Identifier: Apache-2.0
#include "actors/bench/workspace_peer.hpp"

#include <nlohmann/json.hpp>

#include "actors/bench/scratch_folder.hpp"
#include "actors/script.hpp"
#include "runtime/environment.hpp"
#include "runtime/run/durable_file.hpp"

namespace warpsmith::actors {
namespace {

constexpr std::chrono::minutes patience{10};
constexpr const char* script = "scripts/bench_workspace_peer.py";

Result<WorkspacePeer> read_answer(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  WorkspacePeer peer;
  for (const auto& [name, into] : {std::pair{"compile_s", &peer.compile_s},
                                   {"verify_s", &peer.verify_s},
                                   {"profile_s", &peer.profile_s},
                                   {"total_s", &peer.total_s},
                                   {"held_s", &peer.held_s}}) {
    if (!json.is_object() || !json.value(name, nlohmann::json()).is_number()) {
      return fail(ErrorCode::parse_failed, std::string(script) + " said: " + text);
    }
    *into = json[name].get<double>();
  }
  return peer;
}

}  // namespace

Result<WorkspacePeer> measure_workspace_peer(const std::string& task_file,
                                             const FileSet& solution) {
  const ScratchFolder scratch;
  for (const auto& [name, text] : solution) {
    auto written = write_file_durably(scratch.path() / name, text);
    if (!written) return tl::unexpected(std::move(written.error()));
  }
  const auto said =
      run_script(source_folder() / script,
                 {"--task", task_file, "--solution", scratch.path().string()}, patience);
  if (!said) return tl::unexpected(said.error());
  return read_answer(*said);
}

}  // namespace warpsmith::actors
