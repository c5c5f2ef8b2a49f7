// SPDX-License-Identifier: Apache-2.0
#include "commands/optimize/optimize_run.hpp"

#include <algorithm>
#include <iostream>

#include "commands/check/check_call.hpp"
#include "commands/optimize/brain_candidates.hpp"
#include "commands/optimize/optimize_result.hpp"
#include "commands/optimize/result_folder.hpp"
#include "commands/optimize/submissions.hpp"
#include "commands/options.hpp"
#include "commands/output_text.hpp"
#include "commands/signals.hpp"
#include "commands/slots.hpp"
#include "commands/stack.hpp"
#include "commands/verdict_words.hpp"
#include "runtime/message_text.hpp"
#include "sandbox/ingest/mutant_words.hpp"
#include "synthesis/task_source.hpp"

namespace warpsmith::commands {
namespace {

/// What is judged; read before anything runs.
struct OptimizeInput {
  Task task;
  std::vector<DeclaredShape> shapes;
  std::vector<FoundSubmission> users, candidates;
};

/// Refuses submissions of several contracts: they run on different slots.
Result<void> check_one_contract(const OptimizeInput& input) {
  const FoundSubmission& first = input.candidates.front();
  for (const auto* list : {&input.candidates, &input.users}) {
    for (const FoundSubmission& one : *list) {
      if (one.submission.contract == first.submission.contract) continue;
      return fail(ErrorCode::invalid_argument,
                  one.origin + ": contract " + one.submission.contract + ", but " + first.origin +
                      " is of contract " + first.submission.contract +
                      "; judge them apart, or name one with --contract");
    }
  }
  return {};
}

void print_skipped(const std::vector<std::string>& lines) {
  for (const std::string& one : lines) std::cerr << for_terminal("left out: " + one + '\n');
}

/// Reads everything but the candidates, which a brain may still have to write.
Result<OptimizeInput> read_input(const OptimizeSettings& s) {
  TRY(auto task, synthesis::load_task(s.operator_file));
  if (task.content_hash != s.operator_hash) {
    return fail(
        ErrorCode::invalid_argument,
        s.operator_file +
            ": changed since this result folder was begun; restore it, or begin again without "
            "--resume and with another --out");
  }
  OptimizeInput input{task, declared_shapes(task), {}, {}};
  std::vector<std::string> skipped;
  if (!s.baseline.empty()) {
    TRY(auto users, read_submissions({"--baseline", s.baseline, s.operator_file, s.contract,
                                      /*require_all=*/true},
                                     skipped));
    input.users = std::move(users);
  }
  print_skipped(skipped);
  return input;
}

Result<void> read_candidates(const OptimizeSettings& s, OptimizeInput& input) {
  std::vector<std::string> skipped;
  auto candidates =
      read_submissions({"--candidates", s.candidates, s.operator_file, s.contract}, skipped);
  print_skipped(skipped);
  if (!candidates) return tl::unexpected(std::move(candidates.error()));
  input.candidates = std::move(*candidates);
  return check_one_contract(input);
}

SandboxConfig slots_config(const OptimizeSettings& s, const OptimizeInput& input) {
  const FoundSubmission& first = input.candidates.front();
  SandboxConfig config;
  config.contract = slot_contract(first.submission.contract, first.device);
  config.baselines = selected_baselines(s.baselines);
  config.count = s.slots;
  config.first_gpu = s.gpu;
  config.settings.numerics = enum_of<Numerics>(s.numerics).value();
  return config;
}

/// The attempt that a submission has in the journal; null if none.
const Attempt* attempt_for(const AttemptJournal& journal, const FoundSubmission& one) {
  const auto found = std::ranges::find(journal.attempts(), one.key, &Attempt::key);
  return found == journal.attempts().end() ? nullptr : &*found;
}

/// The candidates without an attempt, each content once.
std::vector<FoundSubmission> still_to_judge(const AttemptJournal& journal,
                                            const std::vector<FoundSubmission>& all) {
  std::vector<FoundSubmission> out;
  for (const FoundSubmission& one : all) {
    const bool queued = std::ranges::find(out, one.key, &FoundSubmission::key) != out.end();
    if (!queued && attempt_for(journal, one) == nullptr) out.push_back(one);
  }
  return out;
}

/// The attempts of these submissions, under their names.
std::vector<Attempt> attempts_for(const AttemptJournal& journal,
                                  const std::vector<FoundSubmission>& all, AttemptRole role) {
  std::vector<Attempt> out;
  for (const FoundSubmission& one : all) {
    const Attempt* judged = attempt_for(journal, one);
    if (judged == nullptr) continue;
    out.push_back({one.name, role, one.key, one.origin, judged->shapes});
  }
  return out;
}

std::string judged_line(const Attempt& attempt) {
  std::string out = attempt.name + ':';
  for (const ShapeAttempt& one : attempt.shapes) {
    out += ' ' + one.shape + ' ' + class_words(one.verdict);
  }
  return out + '\n';
}

/// Everything of one call that the steps share.
class OptimizeJob {
 public:
  OptimizeJob(const OptimizeCall& call, const SignalWait& signals, OptimizeInput input,
              std::string brain_summary, AttemptJournal journal,
              const std::vector<sandbox::SandboxOptions>& slots)
      : call_(call),
        signals_(signals),
        input_(std::move(input)),
        brain_summary_(std::move(brain_summary)),
        journal_(std::move(journal)),
        services_(services_of(slots, end_.ender())) {}

  Result<ExitCode> run() {
    TRY_VOID(check_operator());
    TRY_VOID(judge_users());
    TRY_VOID(judge_candidates());
    OptimizeReport report = report_now();
    TRY_VOID(write_result({call_.folder, services_.front(), input_.shapes, input_.candidates,
                           input_.users, [this] { return signals_.arrived(); },
                           std::chrono::seconds{call_.settings.timeout_s}, call_.settings.name},
                          report));
    std::cout << (call_.json ? to_json(report) : for_terminal(to_text(report)));
    std::cerr << "written: report.json and report.html in " << call_.folder.folder.string() << '\n';
    return code_of(report);
  }
  bool stopped() const { return signals_.arrived(); }

 private:
  /// Ingests the operator before any kernel is tried, so that a refusal and what the task cannot
  /// tell are said once. Other failures are left to the judging, which tries again. The first slot
  /// keeps its service.
  Result<void> check_operator() {
    const bool idle = still_to_judge(journal_, input_.users).empty() &&
                      still_to_judge(journal_, input_.candidates).empty();
    if (idle) return {};
    auto backend = services_.front()();
    if (!backend) return {};
    (*backend)->on_progress([](const std::string& line) { std::cerr << line + '\n'; });
    for (const DeclaredShape& shape : input_.shapes) {
      Task task = shape.task;
      task.device = input_.candidates.front().device;
      const std::chrono::seconds most{call_.settings.timeout_s};
      const auto facts = (*backend)->ingest(task, Deadline::after(most));
      if (!facts && facts.error().code == ErrorCode::invalid_argument) {
        return fail("the operator is unfit, so no kernel is tried: " + shape.function,
                    facts.error());
      }
      if (!facts) return {};
      if (facts->insensitive.empty()) continue;
      std::cerr << for_terminal("note: " + shape.function +
                                " cannot tell these wrong answers from right ones: " +
                                sandbox::in_words(facts->insensitive) + '\n');
    }
    const auto kept = std::make_shared<std::unique_ptr<sandbox::Backend>>(std::move(*backend));
    services_.front() = [kept, make = services_.front()]() {
      return *kept ? Result<std::unique_ptr<sandbox::Backend>>{std::move(*kept)} : make();
    };
    return {};
  }

  bool uses_brain() const { return !call_.settings.brain.empty(); }

  JudgingPool pool() const {
    JudgingPool pool{services_,
                     input_.shapes,
                     std::chrono::seconds{call_.settings.timeout_s},
                     std::nullopt,
                     [this] { return signals_.arrived(); },
                     [](const std::string& line) { std::cerr << line + '\n'; }};
    if (call_.budget.time && !uses_brain()) pool.end = began_ + *call_.budget.time;
    return pool;
  }

  PoolResult judge(const std::vector<FoundSubmission>& list, AttemptRole role) {
    return judge_all(pool(), list, role, [this](const Attempt& attempt) {
      std::cerr << judged_line(attempt);
      return journal_.add(attempt);
    });
  }

  /// A user's kernel that is wrong or has no verdict ends the call: the comparison would not be the
  /// one that the user asked for.
  Result<void> judge_users() {
    PoolResult result = judge(still_to_judge(journal_, input_.users), AttemptRole::user_kernel);
    if (result.error) return tl::unexpected(*result.error);
    if (!result.unjudged.empty()) return no_verdict("--baseline", result.unjudged.front());
    if (result.not_begun > 0) {
      return fail(ErrorCode::infrastructure, "no time was left to judge the kernels of --baseline");
    }
    for (const Attempt& user : attempts_for(journal_, input_.users, AttemptRole::user_kernel)) {
      if (user.correct()) continue;
      const ShapeAttempt& last = user.shapes.back();
      return fail(ErrorCode::invalid_argument,
                  "--baseline " + user.origin + ": expected a correct kernel, got " +
                      class_words(last.verdict) + " on " + last.shape + ": " +
                      with_own_name(last.verdict.feedback, last.verdict.contract, user.name) +
                      "\nFix it, or remove it from the folder");
    }
    return {};
  }

  static Result<void> no_verdict(const std::string& what, const Unjudged& one) {
    const bool refused = one.failure.kind == InfraKind::task_refused;
    return fail(refused ? ErrorCode::invalid_argument : ErrorCode::infrastructure,
                what + ' ' + one.name + ": no verdict: " + one.failure.detail);
  }

  Result<void> judge_candidates() {
    std::vector<FoundSubmission> list = still_to_judge(journal_, input_.candidates);
    const size_t before = list.size();
    if (call_.budget.attempts && !uses_brain()) {
      const auto judged = attempts_for(journal_, input_.candidates, AttemptRole::candidate).size();
      const auto allowed = static_cast<size_t>(*call_.budget.attempts);
      list.resize(std::min(list.size(), allowed > judged ? allowed - judged : 0));
    }
    PoolResult result = judge(list, AttemptRole::candidate);
    if (result.error) return tl::unexpected(*result.error);
    not_begun_ = result.not_begun + before - list.size();
    for (const Unjudged& one : result.unjudged) {
      if (one.failure.kind == InfraKind::task_refused) return no_verdict("operator", one);
      left_out_.push_back({one.name, one.failure});
    }
    return {};
  }

  OptimizeReport report_now() const {
    const OptimizeSettings& s = call_.settings;
    OptimizeReport report{s.operator_file, input_.candidates.front().submission.contract,
                          s.numerics, s.stack, s.margin};
    report.one_core = times_one_core(report.contract);
    for (const DeclaredShape& shape : input_.shapes) report.shapes.push_back(shape.function);
    report.user_kernels = attempts_for(journal_, input_.users, AttemptRole::user_kernel);
    report.candidates = attempts_for(journal_, input_.candidates, AttemptRole::candidate);
    report.promotion = promote(report.user_kernels, report.candidates, s.margin);
    for (CandidateDecision& one : report.promotion.decisions) {
      one.why = with_own_name(std::move(one.why), report.contract, one.name);
    }
    report.left_out = left_out_;
    report.not_begun = not_begun_;
    report.stopped = signals_.arrived();
    report.brain_summary = brain_summary_;
    return report;
  }

  ExitCode code_of(const OptimizeReport& report) const {
    if (signals_.arrived()) return ExitCode::interrupted;
    if (report.promotion.winner) return ExitCode::success;
    return report.left_out.empty() ? ExitCode::judged_wrong : ExitCode::infrastructure;
  }

  const OptimizeCall& call_;
  const SignalWait& signals_;
  OptimizeInput input_;
  std::string brain_summary_;
  AttemptJournal journal_;
  EndOnSignal end_{signals_};
  std::vector<SandboxBackendFactory> services_;
  SteadyClock::time_point began_ = SteadyClock::now();
  std::vector<LeftOut> left_out_;
  size_t not_begun_ = 0;
};

ExitCode print_resume_hint(const OptimizeCall& call) {
  std::cerr << "kept: the verdicts in " << call.folder.journal().string()
            << "\ncontinue with: ./warpsmith optimize --resume " << call.folder.folder.string()
            << '\n';
  return ExitCode::interrupted;
}

/// Judges the candidates of the input and decides.
Result<ExitCode> judge(const OptimizeCall& call, OptimizeInput input,
                       const std::string& brain_summary) {
  // From here on Ctrl-C leaves a folder that --resume accepts.
  const SignalWait signals{"stopping: what was judged is kept; press Ctrl-C again to exit at once"};
  TRY(auto slots, take_slots(slots_config(call.settings, input)));
  if (call.is_new && call.settings.brain.empty()) {
    TRY_VOID(make_result_folder(call.folder, call.settings));
  }
  TRY(auto journal, AttemptJournal::open(call.folder.journal()));
  OptimizeJob job(call, signals, std::move(input), brain_summary, std::move(journal), slots);
  auto code = job.run();
  if (!code && call.is_new && !job.stopped()) remove_unused(call.folder);
  return job.stopped() ? print_resume_hint(call) : code;
}

/// Runs the brain in a result folder, which is removed again if nothing began.
Result<BrainEnd> ask(const OptimizeCall& call) {
  if (call.is_new) {
    TRY_VOID(make_result_folder(call.folder, call.settings));
  }
  auto end = ask_brain(
      {call.settings, call.folder, call.overrides, call.budget.attempts, call.budget.time});
  if (!end && call.is_new) remove_unused(call.folder);
  return end;
}

/// Reads the submissions of the brain; returns false if none can be judged.
Result<bool> read_found(const OptimizeCall& call, const BrainEnd& end, OptimizeInput& input) {
  OptimizeSettings settings = call.settings;
  settings.contract = end.contract;
  auto read = read_candidates(settings, input);
  if (!read && read.error().code == ErrorCode::not_found) return false;
  if (!read) return tl::unexpected(std::move(read.error()));
  for (FoundSubmission& one : input.candidates) {
    one.origin = origin_of(one.name, call.folder.brain());
  }
  return true;
}

/// Judges the submissions of a brain even if the brain failed later: they were paid for.
Result<ExitCode> ask_and_judge(const OptimizeCall& call, OptimizeInput input) {
  TRY(const auto end, ask(call));
  const LoopResult& loop = end.loop;
  if (loop.end == LoopEnd::stopped && loop.limit.empty()) return print_resume_hint(call);
  Result<ExitCode> code = ExitCode::judged_wrong;
  TRY(const auto found, read_found(call, end, input));
  if (found) {
    code = judge(call, std::move(input), end.summary);
  } else {
    std::cerr << "nothing better: " << end.summary << "; see " << call.folder.brain().string()
              << "/log.txt\n";
  }
  if (loop.end != LoopEnd::failed) return code;
  (void)print_resume_hint(call);
  return fail(loop.error.code, "--brain: " + loop.error.message);
}

Result<ExitCode> run_or_error(const OptimizeCall& call) {
  TRY(auto input, read_input(call.settings));
  if (!call.settings.brain.empty()) return ask_and_judge(call, std::move(input));
  TRY_VOID(read_candidates(call.settings, input));
  return judge(call, std::move(input), "");
}

}  // namespace

ExitCode run_optimize(const OptimizeCall& call) {
  const auto code = run_or_error(call);
  return code ? *code : report(code.error());
}

}  // namespace warpsmith::commands
