// SPDX-License-Identifier: Apache-2.0
// `warpsmith bench repeat`: judges a kernel repeatedly and compares the verdicts.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "actors/sandbox/sandbox_backend.hpp"
#include "commands/bench/bench.hpp"
#include "commands/bench/repetition.hpp"
#include "commands/check/check_call.hpp"
#include "commands/signals.hpp"
#include "commands/slots.hpp"
#include "runtime/text.hpp"

namespace warpsmith::commands {
using namespace actors;
namespace {

struct RepeatArguments {
  std::vector<std::string> places;
  int64_t times = 20;
  std::optional<double> expect;
  double within = 0.03;
  int gpu = 0;
  bool json = false;

  std::optional<SpeedupBar> bar() const {
    return expect ? std::optional(SpeedupBar{*expect, within}) : std::nullopt;
  }
};

struct Repeated {
  std::string place;
  Repetition repetition;
};

std::string contract_of(const sandbox::EvaluateRequest& call) {
  return slot_contract(call.submission.contract, call.task.device);
}

Result<std::vector<sandbox::EvaluateRequest>> calls_of(const RepeatArguments& args) {
  std::vector<sandbox::EvaluateRequest> calls;
  for (const std::string& place : args.places) {
    TRY(auto call, check_call({.place = place}));
    calls.push_back(std::move(call));
    if (contract_of(calls.back()) != contract_of(calls.front())) {
      return fail(ErrorCode::invalid_argument,
                  place + ": expected contract " + contract_of(calls.front()) +
                      " as of the first folder, got " + contract_of(calls.back()));
    }
  }
  return calls;
}

Result<std::vector<Repeated>> repeat_all(const RepeatArguments& args,
                                         const std::vector<sandbox::EvaluateRequest>& calls,
                                         const RepeatLoad& load, const EndOnSignal& end) {
  SandboxConfig config;
  config.contract = contract_of(calls.front());
  config.first_gpu = args.gpu;
  TRY(const auto slots, take_slots(config));
  auto backend = service_backend(slots.front(), end.ender())();
  std::vector<Repeated> all;
  if (load.stop()) return all;
  if (!backend) return tl::unexpected(std::move(backend.error()));
  for (size_t i = 0; i < calls.size(); ++i) {
    auto one = repeat_verdict(**backend, calls[i], load);
    if (!one) return fail(args.places[i], std::move(one.error()));
    all.push_back({args.places[i], std::move(*one)});
  }
  return all;
}

nlohmann::json bar_json(const std::optional<SpeedupBar>& bar) {
  return bar ? nlohmann::json{bar->range().low, bar->range().high} : nlohmann::json();
}

nlohmann::json to_json(const std::vector<Repeated>& all, const std::optional<SpeedupBar>& bar) {
  nlohmann::json places = nlohmann::json::array();
  for (const Repeated& one : all) {
    nlohmann::json each = nlohmann::json::array();
    for (const VerdictSample& seen : one.repetition.verdicts) {
      each.push_back({{"milestone", seen.milestone},
                      {"speedup_eager", seen.speedup_eager},
                      {"speedup_compile", seen.speedup_compile},
                      {"straddles", seen.straddles}});
    }
    places.push_back({{"place", one.place},
                      {"median_speedup_eager", one.repetition.median_speedup_eager()},
                      {"median_speedup_eager_bar", bar_json(bar)},
                      {"meets_bar", bar ? nlohmann::json(bar->is_met(one.repetition)) : nullptr},
                      {"median_speedup_compile", one.repetition.median_speedup_compile()},
                      {"unexplained", one.repetition.unexplained()},
                      {"asked_again", one.repetition.retries},
                      {"verdicts", each}});
  }
  return {{"places", places}};
}

std::string bar_text(const std::optional<SpeedupBar>& bar) {
  return bar ? fmt::format("{:.3f} to {:.3f}", bar->range().low, bar->range().high) : "";
}

std::string to_text(const std::vector<Repeated>& all, const std::optional<SpeedupBar>& bar) {
  std::string out;
  for (const Repeated& one : all) {
    out += one.place + '\n';
    std::vector<BenchRow> rows;
    for (const auto& [milestone, count] : one.repetition.milestones()) {
      rows.push_back({fmt::format("milestone {}", milestone), std::to_string(count), {}});
    }
    rows.push_back({"unexplained changes", std::to_string(one.repetition.unexplained()), "0"});
    rows.push_back({"retries after noise", std::to_string(one.repetition.retries), {}});
    rows.push_back({"median speed-up, eager", number_text(one.repetition.median_speedup_eager(), 3),
                    bar_text(bar)});
    rows.push_back({"median speed-up, torch.compile",
                    number_text(one.repetition.median_speedup_compile(), 3),
                    {}});
    out += table_of(rows);
  }
  return out;
}

/// Reports how much Ctrl-C left undone, if anything, and returns the exit code.
ExitCode exit_code_of(const std::vector<Repeated>& all, int64_t wanted) {
  size_t seen = 0;
  for (const Repeated& one : all) seen += one.repetition.verdicts.size();
  if (std::cmp_equal(seen, wanted)) return ExitCode::success;
  std::cerr << "stopped: " << seen << " of " << wanted << " verdicts\n";
  return ExitCode::interrupted;
}

ExitCode bench_repeat(const RepeatArguments& args) {
  const SignalWait signals{stop_notice};
  const auto calls = calls_of(args);
  if (!calls) return report(calls.error());
  const RepeatLoad load{
      .times = args.times, .progress = print_progress, .stop = [&] { return signals.arrived(); }};
  const EndOnSignal end(signals);
  const auto all = repeat_all(args, *calls, load, end);
  if (!all) return report(all.error());
  std::cout << (args.json ? to_json(*all, args.bar()).dump() + '\n' : to_text(*all, args.bar()));
  return exit_code_of(*all, args.times * std::ssize(*calls));
}

const char* const repeat_footer =
    "Judges the solution of each folder --times times with one service. A verdict may earn "
    "another\n"
    "milestone than most others only if one of its intervals contains the milestone, and then "
    "only\n"
    "a lower one. A plan of one library step should take as long as eager:\n"
    "  warpsmith bench repeat configs/examples/product configs/examples/copy --expect 1\n"
    "Ctrl-C ends with the figures so far.";

}  // namespace

Command bench_repeat_part() {
  return {"repeat", "One kernel judged many times: do its verdicts agree?",
          [](CLI::App& app) -> std::function<ExitCode()> {
            auto args = std::make_shared<RepeatArguments>();
            app.add_option("DIR", args->places, "Folders with reference.py and solution/")
                ->type_name("")
                ->required();
            app.add_option("--times", args->times, "Verdicts per folder")
                ->capture_default_str()
                ->check(CLI::Range(1, 10'000));
            auto* expect = app.add_option("--expect", args->expect,
                                          "Bar on each folder's median speed-up over eager")
                               ->check(CLI::Range(0.001, 1000.0));
            app.add_option("--within", args->within, "Tolerance of --expect")
                ->capture_default_str()
                ->check(CLI::Range(0.0, 1000.0))
                ->needs(expect);
            app.add_option("--gpu", args->gpu, "Number of the GPU for contracts device and host")
                ->capture_default_str()
                ->check(CLI::Range(0, 63));
            app.add_flag("--json", args->json, "Print one JSON object on standard output");
            app.footer(repeat_footer);
            return [args] { return bench_repeat(*args); };
          }};
}

}  // namespace warpsmith::commands
