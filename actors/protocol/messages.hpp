// SPDX-License-Identifier: Apache-2.0
// What actors tell each other, beside the records of runtime/. Plain structs; every one crosses the
// wire as one byte blob (see inspect.hpp), so floats of any value are safe in them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/bytes.hpp"
#include "runtime/finish_reason.hpp"
#include "runtime/submission.hpp"
#include "runtime/task.hpp"
#include "runtime/trajectory.hpp"
#include "runtime/verdict.hpp"

namespace warpsmith::actors {

/// A task that ingest accepted, with what it measured.
struct PreparedTask {
  Task task;
  TaskFacts facts;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(task, facts);
  }
};

/// How one trajectory of a task ended: input of the curriculum.
struct TaskOutcome {
  std::string task_id;
  double reward = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(task_id, reward);
  }
};

/// Asks a generator to continue a session. `new_tokens` is only what the generator has not seen;
/// with `whole` it is the full prefix (first turn, or another generator died with it).
struct GenerateCall {
  TrajectoryId session = 0;
  uint32_t turn = 0;
  bool whole = false;
  std::vector<int32_t> new_tokens;
  int32_t credit = 0;  // tokens that the asker will take; the stream ends there at the latest
  uint32_t step = 0;   // weights of an earlier step must not sample: error capacity until they come
  template <class Archive>
  void serialize(Archive& archive) {
    archive(session, turn, whole, new_tokens, credit, step);
  }
};

/// A piece of the stream that answers a GenerateCall. n tokens.
struct TokenChunk {
  TrajectoryId session = 0;
  uint32_t turn = 0;
  std::vector<int32_t> tokens;               // (n)
  std::vector<float> log_probs;              // (n) natural log
  std::vector<PolicyVersion> versions;       // (n)
  FinishReason finish = FinishReason::none;  // anything else: the last chunk of this turn
  template <class Archive>
  void serialize(Archive& archive) {
    archive(session, turn, tokens, log_probs, versions, finish);
  }
};

/// One tool call as the model wrote it, for the workspace of one trajectory.
struct ToolCall {
  TrajectoryId trajectory = 0;
  uint32_t turn = 0;
  std::string name;
  std::map<std::string, std::string> arguments;
  PreparedTask task;  // to make the workspace where the executor has none yet
  template <class Archive>
  void serialize(Archive& archive) {
    archive(trajectory, turn, name, arguments, task);
  }
};

/// Either a text for the model, or a frozen submission that a sandbox must judge first.
struct ToolAnswer {
  TrajectoryId trajectory = 0;
  uint32_t turn = 0;
  std::string text;
  bool needs_sandbox = false;
  Submission submission;
  Request request = Request::verify;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(trajectory, turn, text, needs_sandbox, submission, request);
  }
};

/// Asks a sandbox to judge.
struct EvaluateCall {
  TrajectoryId trajectory = 0;
  Task task;
  Submission submission;
  Request request = Request::final;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(trajectory, task, submission, request);
  }
};

struct EvaluateReply {
  TrajectoryId trajectory = 0;
  Judgement judgement;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(trajectory, judgement);
  }
};

/// Answer to a request for admission. Open trajectories that lost their rollout go first: then
/// `task` is theirs, whatever was asked for, and `segments` are what is recorded of them.
struct Admission {
  bool granted = false;  // false: nothing more will be admitted in this run
  TrajectoryId trajectory = 0;
  Task task;
  std::vector<Segment> segments;
  bool resumed = false;   // another rollout had it: what it left elsewhere is not trusted
  PolicyVersion version;  // the newest when it was admitted: none older samples for it
  template <class Archive>
  void serialize(Archive& archive) {
    archive(granted, trajectory, task, segments, resumed, version);
  }
};

/// A trajectory that has its reward.
struct Closed {
  TrajectoryId trajectory = 0;
  Outcome outcome;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(trajectory, outcome);
  }
};

struct Dropped {
  TrajectoryId trajectory = 0;
  DropReason reason = DropReason::infrastructure;
  std::string detail;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(trajectory, reason, detail);
  }
};

/// A verdict that a trajectory got, for the record.
struct Judged {
  TrajectoryId trajectory = 0;
  uint32_t turn = 0;
  bool final = false;
  Verdict verdict;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(trajectory, turn, final, verdict);
  }
};

/// One optimiser step, as the learner reports it.
struct StepDone {
  PolicyVersion version;              // the version that the step made
  std::vector<TrajectoryId> trained;  // whose gradients it holds
  std::map<std::string, double> metrics;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(version, trained, metrics);
  }
};

/// The conservation law, as numbers: admitted = trained + dropped + in flight.
struct LedgerCounts {
  uint64_t admitted = 0;
  uint64_t trained = 0;
  std::map<std::string, uint64_t> dropped;  // reason → count
  uint64_t in_flight = 0;
  uint64_t open = 0;       // of those in flight: the learner was not told of their end
  uint64_t closed = 0;     // of those in flight: it was, and no step has used them yet
  bool exhausted = false;  // nothing more will be admitted
  template <class Archive>
  void serialize(Archive& archive) {
    archive(admitted, trained, dropped, in_flight, open, closed, exhausted);
  }
};

/// Newer weights are in the store.
struct WeightsReady {
  PolicyVersion version;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(version);
  }
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
  template <class Archive>
  void serialize(Archive& archive) {
    archive(version, index, count, name, shape, offset, bytes, checksum);
  }
};

/// What an actor says of itself when asked; answered at once.
struct ActorStatus {
  std::string name;  // "rollout-0"
  std::string phase;
  uint64_t handled = 0;  // messages
  double busy_s = 0;     // inside handlers
  double alive_s = 0;
  uint64_t queued = 0;  // waiting work that it knows of
  std::map<std::string, double> gauges;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(name, phase, handled, busy_s, alive_s, queued, gauges);
  }
};

/// Why the run cannot go on, as a value of the one taxonomy; told to the supervisor.
struct FailureReport {
  std::string actor;
  ErrorCode code = ErrorCode::infrastructure;
  std::string message;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(actor, code, message);
  }
};

/// Numbers for the telemetry: name → value, at one moment; and words, for people.
struct Observation {
  std::string source;
  std::map<std::string, double> values;
  std::map<std::string, std::string> texts;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(source, values, texts);
  }
};

/// Something that the supervisor did, for the record.
struct Event {
  std::string kind;   // "restart", "stop", "give_up"
  std::string actor;  // whom it is about
  std::string text;   // why
  template <class Archive>
  void serialize(Archive& archive) {
    archive(kind, actor, text);
  }
};

}  // namespace warpsmith::actors
