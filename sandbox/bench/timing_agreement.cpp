// SPDX-License-Identifier: Apache-2.0
#include "sandbox/bench/timing_agreement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "runtime/median.hpp"
#include "sandbox/bench/plain_launches.hpp"
#include "sandbox/judge/seed.hpp"
#include "sandbox/timing/call_meter.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr double us_of_ms = 1000;
constexpr int64_t first_amount = int64_t{1} << 14;
constexpr double first_aim_us = 400;  // far above the cost of a launch
constexpr double launch_us = 2;       // approximate; the target need not be met exactly
constexpr int aiming_calls = 5;
constexpr int most_aims = 4;
constexpr std::chrono::seconds call_patience{10};

double median_us(const std::vector<double>& ms) {
  return us_of_ms * median(ms);
}

bool close(double ratio) {
  return std::fabs(ratio - 1) <= agreement_share;
}

/// Measures one kernel at one amount of work.
class Agreement {
 public:
  Agreement(const AgreementJob& job, Bench& bench, const StreamKey& key, Deadline deadline)
      : job_(job), bench_(bench), key_(key), deadline_(deadline) {}

  Result<AgreementRow> row(const std::string& kernel, double target_us) {
    TRY(auto amount, aim(kernel, target_us));
    TRY(const auto candidate, compiled(kernel, amount));
    TRY(auto contestant, loaded(candidate, kernel));
    AgreementRow row{.kernel = kernel, .target_us = target_us};
    TRY_VOID(measure(candidate, contestant, row));
    (void)contestant.process().kill();
    return row;
  }

 private:
  Result<DeviceCandidate> compiled(const std::string& kernel, int64_t amount) {
    const FileSet files = timing_kernel(kernel, amount);
    const auto plan = device_plan(files);
    if (!plan) return fail(ErrorCode::infrastructure, kernel + ": " + plan.error().text);
    TRY(auto made, job_.compiler.compile(files, deadline_));
    if (made.failure) return fail(ErrorCode::infrastructure, kernel + ": " + made.text);
    auto candidate =
        device_candidate(*plan, std::move(made), bench_.signature(), PrecisionLane::fp32_strict);
    if (!candidate) return fail(ErrorCode::infrastructure, kernel + ": " + candidate.error().text);
    return std::move(*candidate);
  }

  Result<Contestant> loaded(const DeviceCandidate& candidate, const std::string& kernel) {
    auto contestant = job_.launchers.start(candidate, bench_.candidate_memory(), deadline_);
    if (!contestant) return tl::unexpected(error_of(std::move(contestant.error())));
    if (auto loaded = contestant->load(Deadline::after(call_patience)); loaded.fault) {
      return tl::unexpected(error_of(failure_of(*loaded.fault, kernel)));
    }
    return std::move(*contestant);
  }

  Result<std::vector<double>> plain(
      const DeviceCandidate& candidate, int calls,
      const BeforeCall& before = [] { return Result<void>{}; }) const {
    return time_plain_launches(job_.gpu, candidate.plan, candidate.cubin, calls, before);
  }

  /// Measures events before and after the other clocks, so that drift cancels out. Before them
  /// another process uses the device, as before a verdict's calls, so address translations are cold
  /// too.
  Result<void> measure(const DeviceCandidate& candidate, Contestant& contestant,
                       AgreementRow& row) {
    const auto left_by_another = [&]() -> Result<void> {
      const CallResult warmed = contestant.warm_up(Deadline::after(call_patience));
      if (!warmed.fault) return {};
      return tl::unexpected(error_of(failure_of(*warmed.fault, row.kernel)));
    };
    TRY(auto events, plain(candidate, (job_.calls + 1) / 2, left_by_another));
    TRY_VOID(judge(contestant, row));
    TRY(const auto after, plain(candidate, (job_.calls + 1) / 2, left_by_another));
    events.insert(events.end(), after.begin(), after.end());
    row.events_us = median_us(events);
    return {};
  }

  /// The amount of work that takes about `target_us`, scaled from a long first measurement.
  Result<int64_t> aim(const std::string& kernel, double target_us) {
    int64_t amount = first_amount;
    for (int aims = 0; aims < most_aims; ++aims) {
      TRY(const auto candidate, compiled(kernel, amount));
      TRY(const auto taken, plain(candidate, aiming_calls));
      const double goal_us = aims + 1 < most_aims ? std::max(first_aim_us, target_us) : target_us;
      amount = scaled_amount(amount, median_us(taken), goal_us, launch_us);
    }
    return amount;
  }

  /// Times a candidate as `EvaluationSession` does (fresh contents, poisoned outputs, a warm-up,
  /// the measurement), but compares nothing and runs no baseline in between.
  Result<void> judge(Contestant& contestant, AgreementRow& row) {
    const auto meter = CallMeter::by_device(contestant.process().pid(), contestant.device_noop());
    std::vector<double> graph, commit;
    for (int call = 0; call <= job_.calls; ++call) {
      const auto taken = time_one(contestant, meter);
      if (taken.fault) return tl::unexpected(error_of(failure_of(*taken.fault, row.kernel)));
      if (call == 0) continue;  // warms up what was never used
      graph.push_back(taken.charged_ms);
      commit.push_back(taken.clock_ms);
    }
    row.graph_us = median_us(graph);
    row.commit_us = median_us(commit);
    return {};
  }

  MeteredCall time_one(Contestant& contestant, const CallMeter& meter) {
    set_ = (set_ + 1) % bench_.sets();
    const std::vector<InputRule> rules(1);
    bench_.fill(set_, {key_, ++number_, Distribution::dense}, rules);
    bench_.reset(set_);
    const CallResult warmed = contestant.warm_up(Deadline::after(call_patience));
    if (warmed.fault) return {.fault = warmed.fault};
    return meter.measure([&] { return contestant.call(set_, Deadline::after(call_patience)); },
                         warmed.elapsed);
  }

  const AgreementJob& job_;
  Bench& bench_;
  StreamKey key_;
  Deadline deadline_;
  uint32_t set_ = 0;
  uint64_t number_ = 0;  // number of the last contents
};

constexpr int64_t elements = int64_t{16} << 20;  // a power of two: kernels mask by it

constexpr const char* head =
    "extern \"C\" __global__ void timed(const float* x, float* y, long long n,\n"
    "                                 long long amount) {\n"
    "  const long long last = n - 1;\n"
    "  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;\n"
    "  const long long all = gridDim.x * (long long)blockDim.x;\n";

// i: number of the thread; all: number of threads. Indices wrap around both buffers.
const std::map<std::string, std::string> bodies{
    {"loop",
     "  float value = x[i & last];\n"
     "  for (long long step = 0; step < amount; ++step) value = value * 0.999f + 0.5f;\n"
     "  y[i & last] = value;\n"},
    {"copy", "  for (long long at = i; at < amount; at += all) y[at & last] = x[at & last];\n"},
    {"strided",
     "  float sum = 0;\n"
     "  for (long long at = i; at < amount; at += all) sum += x[at * 33 & last];\n"
     "  y[i & last] = sum;\n"}};

// This kernel includes a header with device variables, which are reset before each call.
constexpr const char* with_variables = "strided";

}  // namespace

std::vector<std::string> timing_kernel_names() {
  std::vector<std::string> names;
  names.reserve(bodies.size());
  for (const auto& [name, body] : bodies) names.push_back(name);
  return names;
}

TaskSignature timing_signature() {
  TaskSignature signature;
  signature.tensors = {{"x", TensorRole::input, Dtype::f32, {elements}, {"d0"}},
                       {"y", TensorRole::output, Dtype::f32, {elements}, {"d0"}}};
  signature.dim_names = {"d0"};
  signature.dims = {elements};
  return signature;
}

FileSet timing_kernel(const std::string& name, int64_t amount) {
  const std::string include =
      name == with_variables ? "#include <cooperative_groups/reduce.h>\n" : "";
  return {{"kernels.cu", include + head + bodies.at(name) + "}\n"},
          {"plan.toml", fmt::format("[[step]]\n"
                                    "launch = \"timed\"\n"
                                    "grid = [1056]\n"
                                    "block = [256]\n"
                                    "args = [\"x\", \"y\", \"d0\", \"{}\"]\n",
                                    amount)}};
}

bool AgreementRow::graph_agrees() const {
  return !graph_bar() || close(graph_ratio());
}

bool AgreementRow::commit_agrees() const {
  return !commit_bar() || close(commit_ratio());
}

int64_t scaled_amount(int64_t amount, double took_us, double target_us, double fixed_us) {
  const double grows_us = std::max(took_us - fixed_us, 0.1);
  const double wanted_us = std::max(target_us - fixed_us, 0.1);
  constexpr double most = 1e15;  // far above any useful amount
  const double scaled = std::round(static_cast<double>(amount) * wanted_us / grows_us);
  return static_cast<int64_t>(std::clamp(scaled, 1.0, most));
}

Result<std::vector<AgreementRow>> measure_agreement(const AgreementJob& job, Deadline deadline) {
  TRY(const auto seed, draw_seed());
  TRY(const auto held, job.slot.lease(deadline));
  TRY(auto bench, job.slot.make_bench(timing_signature(), 0));
  Agreement agreement(job, *bench, seed.key(), deadline);
  std::vector<AgreementRow> rows;
  for (const std::string& kernel : timing_kernel_names()) {
    for (const double target_us : job.targets_us) {
      job.progress(fmt::format("{}, {} us", kernel, std::lround(target_us)));
      TRY(auto row, agreement.row(kernel, target_us));
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

}  // namespace warpsmith::sandbox
