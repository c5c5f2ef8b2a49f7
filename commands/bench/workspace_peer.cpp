// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/workspace_peer.hpp"

#include "actors/base/script.hpp"
#include "commands/bench/scratch_folder.hpp"
#include "runtime/environment.hpp"
#include "runtime/run/durable_file.hpp"

namespace warpsmith::commands {
using namespace actors;
namespace {

constexpr std::chrono::minutes patience{10};
constexpr const char* script = "scripts/bench_workspace_peer.py";

Result<WorkspacePeer> read_answer(const std::string& text) {
  const auto output =
      numbers_of(script, text, {"compile_s", "verify_s", "profile_s", "total_s", "held_s"});
  if (!output) return tl::unexpected(output.error());
  return WorkspacePeer{.compile_s = output->at("compile_s"),
                       .verify_s = output->at("verify_s"),
                       .profile_s = output->at("profile_s"),
                       .total_s = output->at("total_s"),
                       .held_s = output->at("held_s")};
}

}  // namespace

Result<WorkspacePeer> measure_workspace_peer(const std::string& task_file,
                                             const FileSet& solution) {
  const ScratchFolder scratch;
  for (const auto& [name, text] : solution) {
    auto written = write_file_durably(scratch.path() / name, text);
    if (!written) return tl::unexpected(std::move(written.error()));
  }
  const auto output =
      run_script(source_folder() / script,
                 {"--task", task_file, "--solution", scratch.path().string()}, patience);
  if (!output) return tl::unexpected(output.error());
  return read_answer(*output);
}

}  // namespace warpsmith::commands
