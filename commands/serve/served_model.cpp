// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/served_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "actors/run/model_text.hpp"
#include "policy/format/hf_folder.hpp"
#include "policy/format/tokenizer_json.hpp"
#include "policy/generate/cpu/cpu_engine.hpp"
#include "policy/generate/cuda/cuda_engine.hpp"
#include "policy/model/libtorch_runtime.hpp"

namespace warpsmith::commands {
using namespace actors;
namespace {

constexpr int64_t most_default_context = 32'768;
constexpr int64_t least_default_cache = 65'536;
constexpr int64_t gpu_step_rows = 8192;
constexpr int64_t cpu_step_rows = 512;

std::string name_of(const ServedModelOptions& options) {
  if (!options.name.empty()) return options.name;
  const auto folder = std::filesystem::absolute(options.folder).lexically_normal();
  return (folder.has_filename() ? folder : folder.parent_path()).filename().string();
}

Result<void> check_context(const ServedModelOptions& options, const policy::ModelConfig& model) {
  if (options.context <= model.max_positions) return {};
  return fail(ErrorCode::invalid_argument,
              fmt::format("{}: expected at most the model's {} positions, got {}",
                          options.context_from, model.max_positions, options.context));
}

policy::EngineConfig engine_config(const ServedModelOptions& options,
                                   const policy::ModelConfig& model) {
  policy::EngineConfig config;
  config.max_sessions = options.sessions;
  config.max_session_tokens =
      options.context > 0 ? options.context : std::min(model.max_positions, most_default_context);
  config.cache_tokens =
      options.cache_tokens > 0
          ? options.cache_tokens
          : std::max(least_default_cache, config.max_session_tokens + policy::block_tokens);
  config.step_rows = options.gpu ? gpu_step_rows : cpu_step_rows;
  return config;
}

Result<ToolSyntax> syntax_of(const ServedModelOptions& options) {
  if (options.tool_syntax == "xml") return ToolSyntax::xml;
  if (options.tool_syntax == "hermes") return ToolSyntax::hermes;
  auto syntax = tool_syntax_of(options.folder);
  if (!syntax) return fail("--tool-syntax auto", std::move(syntax.error()));
  return syntax;
}

/// The tokenizer, the chat frame and the stop tokens.
Result<ServedText> load_text(const ServedModelOptions& options, policy::ModelConfig& model) {
  TRY(auto tokenizer, policy::read_tokenizer(options.folder));
  const AgentConfig agent{.chat_template = options.chat_template};
  auto frame = chat_frame(agent, tokenizer, options.folder);
  if (!frame) return fail("--chat-template", std::move(frame.error()));
  end_turns_by(*frame, tokenizer, model);
  ServedText text{.name = name_of(options), .frame = std::move(*frame)};
  text.stop_tokens.assign(model.eos_tokens.begin(), model.eos_tokens.end());
  TRY(const auto syntax, syntax_of(options));
  text.syntax = syntax;
  text.vocab = static_cast<int32_t>(model.vocab);
  text.tokenizer = std::make_shared<const policy::Tokenizer>(std::move(tokenizer));
  return text;
}

}  // namespace

Result<ServedModel> load_served_model(const ServedModelOptions& options) {
  TRY(auto loaded, policy::load_hf_model(options.folder));
  ServedModel model{.config = loaded.config(), .weights = loaded.weights(), .gpu = options.gpu};
  TRY_VOID(check_context(options, model.config));
  TRY(auto text, load_text(options, model.config));
  model.text = std::move(text);
  model.engine = engine_config(options, model.config);
  TRY_VOID(model.engine.validate());
  model.text.context = model.engine.max_session_tokens;
  return model;
}

EngineMaker engine_maker(const ServedModel& model) {
  return [&model]() -> Result<std::unique_ptr<policy::Engine>> {
    policy::use_threads(1);
    auto engine = model.gpu
                      ? policy::make_cuda_engine(model.config, model.engine, {.gpu = *model.gpu})
                      : policy::make_cpu_engine(model.config, model.engine);
    if (engine) (*engine)->load(PolicyVersion{}, model.weights);
    return engine;
  };
}

}  // namespace warpsmith::commands
