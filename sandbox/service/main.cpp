// SPDX-License-Identifier: Apache-2.0
// warpsmith-sandbox: the small program that holds verdicts and spawns jails; also what runs in
// them.
#include <cstdio>
#include <span>
#include <string>

#include "sandbox/commit/runner_plan.hpp"
#include "sandbox/service/libraries.hpp"
#include "sandbox/service/server.hpp"
#include "sandbox/service/wire.hpp"

namespace {

namespace sandbox = warpsmith::sandbox;

constexpr const char* usage =
    "warpsmith-sandbox is started by warpsmith, not by hand.\n"
    "  serve      answers requests on descriptor 3\n"
    "  runner     runs a kernel inside a jail (descriptors 3 to 6)\n"
    "  libraries  lists the files that the runner needs\n";

int list_libraries() {
  for (const std::string& file : warpsmith::sandbox::loaded_libraries()) std::puts(file.c_str());
  return 0;
}

/// Without the judging modules nothing is judged; everything else works.
warpsmith::Result<sandbox::ServiceWork> make_work(const sandbox::SandboxOptions& /*options*/) {
  return sandbox::ServiceWork{
      [](const sandbox::EvaluateRequest&, warpsmith::Deadline) -> warpsmith::Judgement {
        return warpsmith::InfraFailure{warpsmith::InfraKind::reference_failed, "no evaluator"};
      },
      [](const warpsmith::Task&, warpsmith::Deadline) -> warpsmith::Result<warpsmith::TaskFacts> {
        return warpsmith::fail(warpsmith::ErrorCode::unsupported, "no evaluator");
      }};
}

int serve_inherited() {
  warpsmith::UniqueFd fd{sandbox::service_socket_fd};
  return sandbox::serve(warpsmith::FrameSocket{std::move(fd)}, make_work);
}

}  // namespace

int main(int argc, char** argv) {
  const std::span<char*> arguments(argv, static_cast<size_t>(argc));
  const std::string mode = arguments.size() > 1 ? arguments[1] : "";
  if (mode == "serve") return serve_inherited();
  if (mode == "runner") return warpsmith::sandbox::run_runner();
  if (mode == "libraries") return list_libraries();
  (void)std::fputs(usage, mode == "--help" ? stdout : stderr);
  return mode == "--help" ? 0 : 2;
}
