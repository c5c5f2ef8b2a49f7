// SPDX-License-Identifier: Apache-2.0
// The bound of timed calls, and the times of the baselines.
#include <algorithm>

#include "runtime/median.hpp"
#include "sandbox/ingest/ingest_stay.hpp"
#include "sandbox/judge/number_text.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr int most_profile_sets = 4;            // dense sets for a profile
constexpr size_t elements_of_entry = 4UL * 64;  // seen by an entry of a profile, over all sets
constexpr int baseline_calls = 11;              // of each baseline
constexpr int long_calls = 5;                   // of each baseline whose calls take long
constexpr double long_ms = 100;
constexpr double least_ms = 1e-3;  // shorter times are lost in the noise of an empty call

/// The operations that the machine's rate for float32 bounds: none where narrower arithmetic may
/// compute them.
double float32_flops(const Task& task, const TaskDescription& description) {
  const auto& tensors = description.signature.tensors;
  const bool narrow = std::ranges::any_of(
      tensors, [](const TensorSpec& spec) { return unit_of(spec.dtype) > unit_of(Dtype::f32); });
  return narrow || task.lane == PrecisionLane::tf32_allowed ? 0 : description.flops;
}

}  // namespace

/// Dense sets for the profiles: one where a set takes long. An entry stands for more elements of a
/// large output, so that fewer sets show it as many.
int IngestStay::profile_sets() const {
  if (set_time_ > slow_set) return 1;
  size_t least = elements_of_entry;
  for (const TensorSpec& spec : description_.signature.tensors) {
    if (spec.role != TensorRole::output) continue;
    least = std::min(least, profile_block_of(tensor_bytes(spec) / element_bytes(spec.dtype)));
  }
  return std::clamp(static_cast<int>(elements_of_entry / least), 1, most_profile_sets);
}

/// Measures the bound of timed calls, and checks that torch.compile's outputs keep to it. The
/// contents of `try_dense` are the first of these sets.
OrFailure<void> IngestStay::calibrate_dense() {
  say("the bound of timed outputs");
  for (int i = 0; i < profile_sets(); ++i) {
    if (i > 0) {
      if (auto ready = prepare(Distribution::dense); !ready) return ready;
    }
    if (auto done = refer(); !done) return done;
    bench_.raise_profiles(record_.profiles);
  }
  if (auto done = keep_eager(); !done) return done;
  if (auto done = baseline(true); !done) return done;
  if (auto done = session_.collect(0, patience_); !done) return done;
  bench_.use_profiles(record_.profiles);
  const ErrorStats both = bench_.compare_outputs(of_worker, of_eager, bound_);
  if (!both.right()) record_.refusal = "torch.compile and eager differ on dense inputs";
  if (!both.right()) return {};
  if (auto done = further_.check(bound_); !done) return done;
  return gate_timed();
}

Result<std::string> objection_to_times(double eager_ms, double compile_ms) {
  const double least = std::min(eager_ms, compile_ms);
  if (least < -least_ms) {
    return fail(ErrorCode::infrastructure,
                "a baseline took " + brief(-least) + " ms less than an empty call");
  }
  return least < least_ms ? "a call takes less than a microsecond: too little to time" : "";
}

OrFailure<void> IngestStay::time_baselines() {
  say("timing the baselines");
  if (auto done = calibrate_meter(); !done) return done;
  std::vector<double> eager, compiled;
  const int calls = record_.facts.eager_ms > long_ms ? long_calls : baseline_calls;
  for (int i = 0; i < 2 * calls; ++i) {
    if (auto ready = prepare(Distribution::dense); !ready) return ready;
    if (auto done = baseline(i % 2 == 1); !done) return done;
    (i % 2 == 1 ? compiled : eager).push_back(charged_ms_);
    if (auto done = session_.forget(patience_); !done) return done;
    if (i % 2 == 0) continue;
    const auto fresh = [this] { return prepare(Distribution::dense); };
    if (auto done = further_.time_each(fresh); !done) return done;
  }
  auto objection = objection_to_times(median(eager), median(compiled));
  if (!objection) return tl::unexpected(std::move(objection.error()));
  record_.refusal = std::move(*objection);
  record_.further = further_.facts();
  TaskFacts& facts = record_.facts;
  facts.eager_ms = median(eager);
  facts.compile_ms = median(compiled);
  double written = 0;
  for (const TensorSpec& spec : facts.signature.tensors) {
    const auto bytes = static_cast<double>(tensor_bytes(spec));
    facts.bytes_moved += bytes;
    if (spec.role == TensorRole::output) written += bytes;
  }
  facts.flops = description_.flops;
  facts.floor_ms = floor_ms(written, job_.machine.limits);
  facts.roofline_ms =
      roofline_ms(facts.bytes_moved, float32_flops(job_.task, description_), job_.machine.limits);
  return {};
}

}  // namespace warpsmith::sandbox
