// SPDX-License-Identifier: Apache-2.0
#include "sandbox/ingest/ingest.hpp"

#include <algorithm>
#include <map>

#include "sandbox/ingest/ingest_stay.hpp"
#include "sandbox/judge/host_bench.hpp"
#include "sandbox/judge/seed.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr int loading_share = 5;  // loading may take a fifth of the budget

Result<IngestRecord> refused(std::string why) {
  IngestRecord record;
  record.refusal = std::move(why);
  return record;
}

bool is_float(Dtype dtype) {
  return unit_of(dtype) != 0;
}

/// Names the phase in which the worker failed, unless the error is a refusal.
Error failed_in(const std::string& phase, Error error, std::chrono::milliseconds patience) {
  if (error.code == ErrorCode::invalid_argument) return error;
  if (error.code == ErrorCode::timeout) {
    error.message = "the reference worker did not answer within " +
                    std::to_string((patience.count() + 500) / 1000) + " s";
  }
  error.message = phase + ": " + error.message;
  return error;
}

Result<IngestRecord> refused_or(Error error) {
  if (error.code == ErrorCode::invalid_argument) return refused(std::move(error.message));
  return tl::unexpected(std::move(error));
}

Result<IngestRecord> measure(const IngestJob& job, const TaskDescription& description,
                             FurtherBaselines& further, Deadline deadline) {
  const auto patience = deadline.left();
  Result<std::optional<DeviceLease>> held = std::nullopt;
  if (job.lease) held = job.lease(deadline);
  if (!held) return tl::unexpected(held.error());
  auto bench = job.make_bench(description.signature);
  if (!bench) return refused_or(bench.error());
  auto seed = draw_seed();
  if (!seed) return tl::unexpected(seed.error());
  auto session = enter_with(job.worker, job.task, (*bench)->session_memory(),
                            {spread_evaluations, seed->seed}, further, deadline);
  if (!session) return tl::unexpected(session.error());
  if (auto done = session->calibrate(deadline); !done) return tl::unexpected(done.error());
  IngestStay ingest(job, description, **bench, *session, further, deadline);
  auto record = ingest.run(seed->key());
  if (!record) {
    const Error cause = job.worker.with_cause(record.error(), *session);
    return tl::unexpected(failed_in(ingest.doing(), cause, patience));
  }
  if (auto left = session->leave(deadline); !left) return tl::unexpected(left.error());
  if (auto ended = job.worker.finish(deadline); !ended) return tl::unexpected(ended.error());
  return record;
}

}  // namespace

Result<std::unique_ptr<Bench>> make_host_bench(const TaskSignature& signature) {
  auto made = HostBench::create(signature);
  if (!made) return tl::unexpected(made.error());
  return std::move(*made);
}

std::vector<InputRule> rules_for(const TaskDescription& description, Domain domain) {
  std::vector<InputRule> rules;
  for (size_t i = 0; i < description.signature.tensors.size(); ++i) {
    const TensorSpec& spec = description.signature.tensors[i];
    const ValueSummary& value = description.values[i];
    if (spec.role == TensorRole::output) break;
    InputRule rule{.parameter = spec.role == TensorRole::parameter,
                   .drawn = !is_float(spec.dtype),
                   .mean = value.mean,
                   .deviation = value.deviation,
                   .non_negative = value.low >= 0};
    const bool unit = value.low >= 0 && value.high <= 1;
    if (domain == Domain::unit && unit) {
      rule.domain = Domain::unit;
    } else if (domain != Domain::free && value.low >= 0) {
      rule.domain = Domain::non_negative;
    }
    rules.push_back(rule);
  }
  return rules;
}

Result<IngestRecord> ingest_task(const IngestJob& job, Deadline deadline) {
  const auto whole = std::min(deadline.left(), job.budget);
  const auto first = std::min(deadline.left(), job.budget / loading_share);
  const Deadline end = Deadline::after(whole);
  if (job.progress) job.progress(job.task.id + ": loading");
  auto description = job.worker.load(job.task, Deadline::after(first));
  if (!description && description.error().code == ErrorCode::capacity) {
    // Not recorded as a refusal: there may be room once other services leave the device.
    return fail(ErrorCode::invalid_argument, description.error().message);
  }
  if (!description) return refused_or(failed_in("loading", description.error(), first));
  FurtherBaselines none;
  if (job.scope == IngestScope::verified) return measure(job, *description, none, end);
  if (job.progress) job.progress(job.task.id + ": torch.compile");
  auto compiled = job.worker.compile(job.task, Baseline::compiled, end);
  if (!compiled) return refused_or(failed_in("torch.compile", compiled.error(), whole));
  std::map<Baseline, double> seconds;
  FurtherBaselines& further = job.further != nullptr ? *job.further : none;
  if (auto ready = make_ready(job.worker, job.task, further, end, job.progress, &seconds); !ready) {
    return tl::unexpected(std::move(ready.error()));
  }
  auto record = measure(job, *description, further, end);
  if (!record) return record;
  for (BaselineFacts& facts : record->further) facts.seconds = seconds[facts.which];
  return record;
}

}  // namespace warpsmith::sandbox
