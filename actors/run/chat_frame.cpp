// SPDX-License-Identifier: Apache-2.0
#include "actors/run/chat_frame.hpp"

#include <algorithm>

#include "actors/base/script.hpp"
#include "policy/text/chat_template.hpp"
#include "runtime/environment.hpp"

namespace warpsmith::actors {
namespace {

constexpr std::chrono::seconds patience{60};

Result<policy::ChatFrame> frame_of_folder(const std::filesystem::path& folder,
                                          const policy::Tokenizer& tokenizer) {
  const auto script = source_folder() / "scripts/render_chat_template.py";
  const auto renderings = run_script(script, {folder.string()}, patience);
  if (!renderings) return tl::unexpected(renderings.error());
  return policy::frame_of_renderings(*renderings, tokenizer);
}

}  // namespace

Result<policy::ChatFrame> chat_frame(const AgentConfig& agent, const policy::Tokenizer& tokenizer,
                                     const std::filesystem::path& folder) {
  auto frame = agent.chat_template == "auto" ? frame_of_folder(folder, tokenizer)
                                             : policy::frame_named(agent.chat_template, tokenizer);
  if (frame || frame.error().code != ErrorCode::unsupported) return frame;
  return fail(ErrorCode::invalid_config,
              folder.string() + ": " + frame.error().message +
                  "; set agent.chat_template to \"chatml\" or \"llama3\"" +
                  (agent.chat_template == "auto" ? "" : ", or to \"auto\""));
}

void end_turns_by(const policy::ChatFrame& frame, const policy::Tokenizer& tokenizer,
                  policy::ModelConfig& model) {
  const auto end = tokenizer.id_of(frame.end);
  auto& stops = model.eos_tokens;
  if (end && std::ranges::find(stops, *end) == stops.end()) stops.push_back(*end);
}

}  // namespace warpsmith::actors
