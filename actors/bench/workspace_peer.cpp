// SPDX-License-Identifier: Apache-2.0
#include "actors/bench/workspace_peer.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

#include "actors/bench/scratch_folder.hpp"
#include "runtime/environment.hpp"
#include "runtime/process/child.hpp"

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
  for (const auto& [name, text] : solution) std::ofstream(scratch.path() / name) << text;
  ChildSpec spec;
  spec.argv = {python_interpreter().string(),
               (source_folder() / script).string(),
               "--task",
               task_file,
               "--solution",
               scratch.path().string()};
  auto exit = run_child(spec, Deadline::after(patience));
  if (!exit) return fail("peer", std::move(exit.error()));
  if (exit->timed_out) return fail(ErrorCode::timeout, std::string(script) + " took too long");
  if (exit->exit_code != 0) {
    return fail(ErrorCode::infrastructure, std::string(script) + ": exit code " +
                                               std::to_string(exit->exit_code) + ": " + exit->err);
  }
  return read_answer(exit->out);
}

}  // namespace warpsmith::actors
