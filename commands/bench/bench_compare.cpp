// SPDX-License-Identifier: Apache-2.0
// `bench compare OLD NEW`: runs benches of two builds in turn on one machine, and compares each
// figure by paired ratios, since a machine's speed changes between runs by more than builds do.
#include "commands/bench/bench_compare.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <map>
#include <sstream>

#include "commands/bench/bench.hpp"
#include "runtime/json.hpp"
#include "runtime/json_text.hpp"
#include "runtime/process/child.hpp"
#include "runtime/random_stream.hpp"
#include "sandbox/timing/speedup.hpp"

namespace warpsmith::commands {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct CompareArguments {
  fs::path before, after;
  std::vector<std::string> parts{"evaluate --evaluations 40", "decode --no-peer", "learn",
                                 "actors"};
  int pairs = 5;
  double loss = 0.05;
  std::chrono::minutes most{20};  // for one run of one part
  bool json = false;
};

/// For a checkout, returns its launcher.
Result<fs::path> program_of(const fs::path& given) {
  std::error_code error;
  const fs::path program = fs::is_directory(given, error) ? given / "warpsmith" : given;
  if (::access(program.c_str(), X_OK) == 0) return fs::absolute(program);
  return fail(ErrorCode::invalid_argument,
              program.string() +
                  ": expected a warpsmith program or a checkout with one; build it "
                  "there with ./warpsmith build");
}

std::vector<std::string> arguments_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>{in}, {}};
}

std::string last_line(const std::string& text) {
  const size_t end = text.find_last_not_of("\n ");
  if (end == std::string::npos) return "no message";
  const size_t begin = text.rfind('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1, end - begin);
}

/// How a figure becomes a time: a rate by its inverse. Empty: the figure is not a speed.
std::optional<double> time_of(const std::string& name, double value) {
  const auto ends = [&](std::string_view end) { return name.ends_with(end); };
  if (name.starts_with("peer") || value <= 0) return std::nullopt;
  if (ends("_per_s") || ends("_per_hour") || name == "gflops") return 1 / value;
  if (ends("_ms") || ends("_us") || ends("seconds")) return value;
  return std::nullopt;
}

void collect(const json& value, const std::string& place, BenchFigures& figures) {
  if (value.is_structured()) {
    for (const auto& [name, inner] : value.items()) {
      if (name.starts_with("peer")) continue;
      collect(inner, place.empty() ? name : fmt::format("{}.{}", place, name), figures);
    }
  } else if (value.is_number()) {
    const size_t dot = place.rfind('.');
    const std::string name = dot == std::string::npos ? place : place.substr(dot + 1);
    if (const auto time = time_of(name, value.get<double>())) figures[place] = *time;
  }
}

/// Runs one part of one build.
Result<BenchFigures> run_part(const fs::path& program, const std::string& part,
                              const CompareArguments& args, const SignalWait& signals) {
  ChildSpec spec{.argv = {program.string(), "bench"}};
  for (std::string& word : arguments_of(part)) spec.argv.push_back(std::move(word));
  spec.argv.emplace_back("--json");
  TRY(Child child, Child::start(spec));
  const auto deadline = Deadline::after(args.most);
  while (!child.finished(std::chrono::milliseconds{200})) {
    if (deadline.passed()) break;
    if (!signals.arrived()) continue;
    child.signal(SIGINT);
    break;
  }
  const ChildExit ended = child.wait(Deadline::after(std::chrono::seconds{20}));
  if (signals.arrived()) return fail(ErrorCode::process_failed, "no two pairs were complete");
  if (ended.exit_code != 0) {
    return fail(ErrorCode::process_failed,
                fmt::format("{} bench {}: exit code {}: {}", program.string(), part,
                            ended.exit_code, last_line(ended.err)));
  }
  return bench_figures(ended.out, program.string() + " bench " + part);
}

/// Alternates which build runs first, so that a trend of the machine cancels. A signal ends it with
/// the pairs so far.
Result<FigurePairs> measure(const std::string& part, const CompareArguments& args,
                            const std::array<fs::path, 2>& programs, const SignalWait& signals) {
  FigurePairs pairs;
  for (int i = 0; i < args.pairs; ++i) {
    std::array<BenchFigures, 2> run;
    for (const int turn : {0, 1}) {
      const size_t which = (turn + i) % 2 == 0 ? 0 : 1;
      print_progress(fmt::format("{}: pair {} of {}{}", part, i + 1, args.pairs,
                                 which == 0 ? ", old" : ", new"));
      auto figures = run_part(programs.at(which), part, args, signals);
      if (!figures && signals.arrived() && i >= 2) return pairs;
      TRY(run.at(which), std::move(figures));
    }
    add_pair(pairs, run[0], run[1]);
  }
  return pairs;
}

std::string text_of(const FigureChange& change) {
  return fmt::format("{:.3f} ({:.3f} to {:.3f})", change.ratio, change.interval.low,
                     change.interval.high);
}

std::string table_text(const std::string& part, const std::vector<FigureChange>& changes,
                       double loss) {
  std::vector<BenchRow> rows;
  rows.reserve(changes.size());
  for (const FigureChange& one : changes) {
    rows.push_back({one.figure, text_of(one), std::string{to_string(one.judged(loss))}});
  }
  return part + '\n' + table_of(rows);
}

ExitCode bench_compare(const CompareArguments& args) {
  const SignalWait signals{stop_notice};
  const auto before = program_of(args.before);
  if (!before) return report(before.error());
  const auto after = program_of(args.after);
  if (!after) return report(after.error());
  json out{{"loss", args.loss}, {"pairs", args.pairs}, {"parts", json::object()}};
  bool slower = false;
  for (const std::string& part : args.parts) {
    const auto pairs = measure(part, args, {*before, *after}, signals);
    if (!pairs) return report_unless_stopped(pairs.error(), signals);
    const auto changes = changes_of(*pairs);
    for (const auto& one : changes) slower |= one.judged(args.loss) == Change::slower;
    out["parts"][part] = json_of(changes);
    if (!args.json) std::cout << table_text(part, changes, args.loss) << std::flush;
    if (signals.arrived()) break;
  }
  out["slower"] = slower;
  if (args.json) std::cout << json_text(out) << '\n';
  if (signals.arrived()) return ExitCode::interrupted;
  return slower ? ExitCode::judged_wrong : ExitCode::success;
}

const char* const compare_footer =
    "OLD and NEW are programs or checkouts; they run the same parts in turn on this machine.\n"
    "Each figure is a speed ratio NEW / OLD with its 95 % interval; above 1 NEW is faster:\n"
    "  not slower  the whole interval lies above 1 - LOSS\n"
    "  slower      the whole interval lies below 1 - LOSS; the exit code is 1\n"
    "  undecided   the interval contains 1 - LOSS: more --pairs make it narrower\n"
    "Ctrl-C ends with the pairs so far if there are two.\n"
    "  warpsmith bench compare ../old . --part \"evaluate --contract device\" --pairs 10";

}  // namespace

std::vector<FigureChange> changes_of(const FigurePairs& pairs) {
  RandomStream random(0, "bench compare");
  std::vector<FigureChange> changes;
  for (const auto& [figure, times] : pairs) {
    const auto speedup = sandbox::paired_speedup(times.before, times.after, random);
    changes.push_back({figure, speedup.ratio, speedup.interval, times.before, times.after});
  }
  return changes;
}

Change FigureChange::judged(double loss) const {
  if (interval.low >= 1 - loss) return Change::not_slower;
  return interval.high < 1 - loss ? Change::slower : Change::undecided;
}

Result<BenchFigures> bench_figures(const std::string& text, const std::string& place) {
  const json parsed = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object()) return fail(ErrorCode::parse_failed, place + ": printed no JSON object");
  BenchFigures figures;
  collect(parsed, "", figures);
  if (figures.empty()) return fail(ErrorCode::parse_failed, place + ": printed no speed");
  return figures;
}

void add_pair(FigurePairs& pairs, const BenchFigures& before, const BenchFigures& after) {
  for (const auto& [name, time] : before) {
    const auto found = after.find(name);
    if (found == after.end()) continue;
    pairs[name].before.push_back(time);
    pairs[name].after.push_back(found->second);
  }
}

Command bench_compare_part() {
  return {"compare", "Speed of two builds on this machine, by paired ratios",
          [](CLI::App& app) -> std::function<ExitCode()> {
            auto args = std::make_shared<CompareArguments>();
            app.add_option("OLD", args->before, "The build that is the reference")->required();
            app.add_option("NEW", args->after, "The build that must not be slower")->required();
            app.add_option("--part", args->parts,
                           "A bench with its options, in quotes; repeat for several (default: "
                           "evaluate, decode, learn and actors, on a CPU)")
                ->allow_extra_args(false);
            app.add_option("--pairs", args->pairs, "Runs of each build for each part")
                ->capture_default_str()
                ->check(CLI::Range(2, 1000));
            app.add_option("--loss", args->loss, "The loss of speed that is allowed")
                ->capture_default_str()
                ->check(CLI::Range(0.0, 0.9));
            app.add_flag("--json", args->json, "Print one JSON object on standard output");
            app.footer(compare_footer);
            return [args] { return bench_compare(*args); };
          }};
}

}  // namespace warpsmith::commands
