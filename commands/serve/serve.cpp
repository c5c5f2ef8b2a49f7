// SPDX-License-Identifier: Apache-2.0
// `warpsmith serve`: a model over OpenAI's HTTP interface.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>

#include "commands/command.hpp"
#include "commands/serve/serve_api.hpp"
#include "commands/serve/served_model.hpp"
#include "commands/signals.hpp"
#include "policy/generate/cuda/cuda_engine.hpp"

namespace warpsmith::commands {
namespace {

const char* const footer =
    "Paths: POST /v1/chat/completions and /v1/completions, GET /v1/models, /health, /metrics.\n"
    "Any client of OpenAI's interface connects, for example:\n"
    "  warpsmith serve configs/policy/tiny\n"
    "  curl http://127.0.0.1:8000/v1/completions -H 'Content-Type: application/json' \\\n"
    "    -d '{\"model\": \"tiny\", \"prompt\": \"Hello\"}'\n"
    "A parameter that would change the answer and is not supported is refused by name. The same\n"
    "\"seed\" produces the same answer on a CPU, whatever else runs.\n"
    "Ctrl-C: new requests are answered 503; answers in progress get --grace seconds.\n"
    "Exit codes: 0 stopped, 2 bad input, 3 the engine failed, 130 answers were cut off.";

struct ServeArguments {
  ServedModelOptions model;
  HttpOptions http{.port = 8000};
  ServeOptions api;
  std::string device = "cpu", token_variable;
  int64_t queue = 64;
  int threads = 0;  // 0: enough for every sequence and some more
  int grace_s = 10, request_s = 3'600;
};

/// "cpu", "cuda" or "cuda:N".
Result<std::optional<int>> gpu_of(const std::string& device) {
  if (device == "cpu") return std::nullopt;
  if (device == "cuda") return 0;
  const std::string prefix = "cuda:";
  const std::string number = device.starts_with(prefix) ? device.substr(prefix.size()) : "";
  const bool digits = !number.empty() && number.size() <= 2 &&
                      number.find_first_not_of("0123456789") == std::string::npos;
  if (digits) return std::stoi(number);
  return fail(ErrorCode::invalid_argument, "--device: expected cpu, cuda or cuda:N, got " + device);
}

/// The token of --token-env. An address that other machines reach must have one.
Result<std::string> token_of(const ServeArguments& args) {
  if (args.token_variable.empty()) {
    if (is_loopback(args.http.host)) return std::string{};
    return fail(ErrorCode::invalid_argument,
                "--host " + args.http.host +
                    " is reached by other machines: put a secret into an environment variable "
                    "and name it with --token-env NAME");
  }
  const char* token = std::getenv(args.token_variable.c_str());
  if (token != nullptr && *token != '\0') return std::string(token);
  return fail(ErrorCode::invalid_argument, "--token-env: the environment variable " +
                                               args.token_variable + " is not set, or empty");
}

/// Checks what does not need the model, and completes the arguments.
Result<void> complete(ServeArguments& args) {
  TRY(auto gpu, gpu_of(args.device));
  args.model.gpu = gpu;
  if (args.model.gpu && !policy::cuda_engine_is_built()) {
    return fail(ErrorCode::unsupported,
                "--device " + args.device +
                    ": this was built without a CUDA toolkit or without FlashInfer's headers");
  }
  TRY(auto token, token_of(args));
  args.api.token = std::move(token);
  args.api.request_budget = std::chrono::seconds{args.request_s};
  // Spare threads answer 429, /health and /metrics while every sequence has a connection.
  constexpr int64_t spare = 32;
  args.http.threads = static_cast<size_t>(
      args.threads > 0 ? args.threads : args.model.sessions + args.queue + spare);
  return {};
}

/// Waits for Ctrl-C or a failure; returns the failure.
std::string serve_until_end(const SignalWait& signals, const EngineLoop& loop) {
  constexpr std::chrono::milliseconds poll_interval{200};
  while (!signals.wait(poll_interval)) {
    if (auto failure = loop.status().failure; !failure.empty()) return failure;
  }
  return {};
}

ExitCode end(EngineLoop& loop, HttpServer& server, const std::string& failure, int grace_s) {
  loop.close();
  const bool drained = loop.drained(Deadline::after(std::chrono::seconds{grace_s}));
  loop.stop();
  server.stop();
  if (!failure.empty()) return report({ErrorCode::infrastructure, failure});
  return drained ? ExitCode::success : ExitCode::interrupted;
}

ExitCode serve(ServeArguments args) {
  if (auto fine = complete(args); !fine) return report(fine.error());
  const SignalWait signals{fmt::format(
      "stopping: answers in progress get {} s; press Ctrl-C again to exit at once", args.grace_s)};
  const auto model = load_served_model(args.model);
  if (!model) return report(model.error());
  auto loop = EngineLoop::start(engine_maker(*model),
                                {.sessions = args.model.sessions, .queue = args.queue},
                                {.gpu = args.model.gpu});
  if (!loop) return report(loop.error());
  ServeApi api(model->text, args.api, **loop);
  auto server = HttpServer::listen(
      args.http, [&api](const ServedRequest& request) { return api.handle(request); });
  if (!server) return report(server.error());
  std::cout << "serving " << model->text.name << " at "
            << http_address(args.http.host, server->port()) << "/v1" << std::endl;
  const std::string failure = serve_until_end(signals, **loop);
  return end(**loop, *server, failure, args.grace_s);
}

void add_model_options(CLI::App& app, ServeArguments& args) {
  app.add_option("MODEL", args.model.folder, "Model folder in Hugging Face layout")
      ->type_name("")
      ->required();
  app.add_option("--served-name", args.model.name,
                 "Name of the model in requests (default: the folder's)")
      ->type_name("NAME");
  app.add_option("--device", args.device, "cpu, cuda or cuda:N")->capture_default_str();
  app.add_option("--chat-template", args.model.chat_template,
                 "chatml, llama3, or auto: the model folder's own")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "chatml", "llama3"}));
  app.add_option("--tool-syntax", args.model.tool_syntax,
                 "How the model writes tool calls: hermes (JSON), xml, or auto: as the model "
                 "folder's chat template does, hermes if that writes none")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "hermes", "xml"}));
  app.add_option("--context", args.model.context,
                 "Tokens of a prompt and its answer (default: the model's positions, at most "
                 "32768)")
      ->check(CLI::Range(2, 1 << 24));
  app.add_option("--cache-tokens", args.model.cache_tokens,
                 "Tokens whose keys and values are kept, over all sequences (default: 65536, or "
                 "one context if that is more)")
      ->check(CLI::Range(int64_t{16}, int64_t{1} << 32U));
}

void add_server_options(CLI::App& app, ServeArguments& args) {
  app.add_option("--host", args.http.host, "Address to listen at")->capture_default_str();
  app.add_option("--port", args.http.port, "Port; 0: any free one, which is printed")
      ->capture_default_str()
      ->check(CLI::Range(0, 65'535));
  app.add_option("--token-env", args.token_variable,
                 "Environment variable with the token that clients must send; required if --host "
                 "is not a loopback address")
      ->type_name("NAME");
  app.add_option("--max-sessions", args.model.sessions, "Sequences decoded at once")
      ->capture_default_str()
      ->check(CLI::Range(1, 4096));
  app.add_option("--queue", args.queue,
                 "Sequences that may wait; further requests are answered 429")
      ->capture_default_str()
      ->check(CLI::Range(0, 65'536));
  app.add_option("--threads", args.threads,
                 "Connections served at once (default: --max-sessions + --queue + 32)")
      ->check(CLI::Range(1, 8192));
  app.add_option("--request-timeout", args.request_s, "Seconds for one answer")
      ->capture_default_str()
      ->check(CLI::Range(1, 86'400));
  app.add_option("--grace", args.grace_s, "Seconds that answers in progress get at Ctrl-C")
      ->capture_default_str()
      ->check(CLI::Range(0, 3'600));
}

}  // namespace

Command serve_command() {
  return {"serve", "Serve a model over OpenAI's HTTP interface",
          [](CLI::App& app) -> std::function<ExitCode()> {
            auto args = std::make_shared<ServeArguments>();
            add_model_options(app, *args);
            add_server_options(app, *args);
            app.footer(footer);
            return [args] { return serve(*args); };
          }};
}

}  // namespace warpsmith::commands
