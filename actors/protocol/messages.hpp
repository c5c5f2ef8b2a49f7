// SPDX-License-Identifier: Apache-2.0
// The messages of the actors, in addition to the records of runtime/. Plain structs without CAF;
// each crosses the wire as one byte blob (see inspect.hpp), so they may hold floats of any value.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/bytes.hpp"
#include "runtime/describe.hpp"
#include "runtime/model_turn.hpp"
#include "runtime/submission.hpp"
#include "runtime/task.hpp"
#include "runtime/trajectory.hpp"
#include "runtime/verdict.hpp"
#include "sandbox/protocol/requests.hpp"

namespace warpsmith::actors {

/// A task that ingest accepted, with its measurements.
struct PreparedTask {
  Task task;
  TaskFacts facts;
  WARPSMITH_RECORD(task, facts)
};

/// How one trajectory of a task ended; input of the curriculum.
struct TaskOutcome {
  std::string task_id;
  Outcome outcome;
  WARPSMITH_RECORD(task_id, outcome)
};

/// Asks a generator to continue a session. `new_tokens` are the tokens that the generator has not
/// seen; with `whole`, the full prefix (first turn, or the former generator died).
struct GenerateCall {
  TrajectoryId session = 0;
  uint32_t turn = 0;  // number of the request
  bool whole = false;
  std::vector<int32_t> new_tokens;
  int32_t credit = 0;  // the stream ends after at most this many tokens
  uint32_t step = 0;   // oldest weights that may sample; error capacity while they are missing
  WARPSMITH_RECORD(session, turn, whole, new_tokens, credit, step)
};

/// A piece of the stream that answers a GenerateCall. n tokens.
struct TokenChunk {
  TrajectoryId session = 0;
  uint32_t turn = 0;                         // of the call
  std::vector<int32_t> tokens;               // (n)
  std::vector<float> log_probs;              // (n) as in Segment
  std::vector<PolicyVersion> versions;       // (n)
  FinishReason finish = FinishReason::none;  // otherwise this is the turn's last chunk
  WARPSMITH_RECORD(session, turn, tokens, log_probs, versions, finish)
};

/// One tool call of the model, for the workspace of its trajectory.
struct ToolCall {
  TrajectoryId trajectory = 0;
  uint32_t turn = 0;  // number of the request
  std::string name;
  std::map<std::string, std::string> arguments;
  PreparedTask task;    // for a new workspace, if the executor has none yet
  bool repeat = false;  // ran in an earlier workspace and must run again in the new one
  WARPSMITH_RECORD(trajectory, turn, name, arguments, task, repeat)
};

/// Either a text for the model, or a frozen submission that a sandbox must judge first.
struct ToolAnswer {
  TrajectoryId trajectory = 0;
  uint32_t turn = 0;  // of the call
  std::string text;
  bool needs_sandbox = false;
  Submission submission;
  Request request = Request::verify;
  WARPSMITH_RECORD(trajectory, turn, text, needs_sandbox, submission, request)
};

/// Asks a sandbox to judge.
struct EvaluateCall {
  TrajectoryId trajectory = 0;
  uint32_t turn = 0;  // number of the request
  sandbox::EvaluateRequest request;
  WARPSMITH_RECORD(trajectory, turn, request)
};

/// Answer to a request for admission. Open trajectories that lost their rollout go first: then
/// `task` is that trajectory's task instead of the requested one, and `segments` are its recorded
/// turns.
struct Admission {
  bool granted = false;  // false: nothing more will be admitted in this run
  TrajectoryId trajectory = 0;
  Task task;
  std::vector<Segment> segments;
  bool resumed = false;   // another rollout had it and may have left a session and a workspace
  PolicyVersion version;  // the newest at admission: older weights must not sample for it
  BestSubmission best;    // of the recorded turns
  WARPSMITH_RECORD(granted, trajectory, task, segments, resumed, version, best)
};

/// A trajectory ended with its reward.
struct Closed {
  TrajectoryId trajectory = 0;
  Outcome outcome;
  WARPSMITH_RECORD(trajectory, outcome)
};

/// A trajectory ended without a reward.
struct Dropped {
  TrajectoryId trajectory = 0;
  DropReason reason = DropReason::infrastructure;
  std::string detail;
  WARPSMITH_RECORD(trajectory, reason, detail)
};

/// A verdict on a submission of a trajectory, for the record.
struct Judged {
  TrajectoryId trajectory = 0;
  uint32_t turn = 0;
  bool final = false;
  Verdict verdict;
  FileSet files;  // of the submission
  WARPSMITH_RECORD(trajectory, turn, final, verdict, files)
};

/// One optimiser step, as the learner reports it.
struct StepDone {
  PolicyVersion version;              // the version that the step made
  std::vector<TrajectoryId> trained;  // whose gradients the step used
  std::map<std::string, double> metrics;
  WARPSMITH_RECORD(version, trained, metrics)
};

/// The conservation law, as numbers: admitted = trained + dropped + in flight.
struct LedgerCounts {
  uint64_t admitted = 0;
  uint64_t trained = 0;
  std::map<std::string, uint64_t> dropped;  // reason → count
  uint64_t in_flight = 0;
  uint64_t open = 0;       // in flight; their end was not yet sent to the learner
  uint64_t closed = 0;     // in flight; their end was sent, and no step has used them yet
  bool exhausted = false;  // nothing more will be admitted
  WARPSMITH_RECORD(admitted, trained, dropped, in_flight, open, closed, exhausted)
};

/// Newer weights are in the store.
struct WeightsReady {
  PolicyVersion version;
  WARPSMITH_RECORD(version)
};

/// One piece (≤ 8 MiB) of one tensor of a version.
struct WeightShard {
  PolicyVersion version;
  uint32_t index = 0, count = 0;  // of all pieces of the version
  std::string name;               // tensor
  std::vector<int64_t> shape;     // of the whole tensor, float32
  uint64_t offset = 0;            // bytes into the tensor
  ByteBuffer bytes;
  uint64_t checksum = 0;  // checksum64 of `bytes`
  WARPSMITH_RECORD(version, index, count, name, shape, offset, bytes, checksum)
};

/// An actor's answer to a status request.
struct ActorStatus {
  std::string name;  // "rollout-0"
  std::string phase;
  uint64_t handled = 0;  // messages
  double busy_s = 0;     // inside handlers
  double alive_s = 0;
  uint64_t queued = 0;  // waiting work, in units of the actor's choice
  std::map<std::string, double> gauges;
  WARPSMITH_RECORD(name, phase, handled, busy_s, alive_s, queued, gauges)
};

/// Why the run must stop.
struct FailureReport {
  std::string actor;
  ErrorCode code = ErrorCode::infrastructure;
  std::string message;
  WARPSMITH_RECORD(actor, code, message)
};

/// Numbers and texts of one source at one moment, by name.
struct Observation {
  std::string source;
  std::map<std::string, double> values;
  std::map<std::string, std::string> texts;
  WARPSMITH_RECORD(source, values, texts)
};

/// Something that happened to an actor or a task, for the record.
struct Event {
  std::string kind;   // "restart", "stop", "give_up", "task_refused", "warning"
  std::string actor;  // label of the actor that it is about
  std::string text;   // the reason
  WARPSMITH_RECORD(kind, actor, text)
};

}  // namespace warpsmith::actors
