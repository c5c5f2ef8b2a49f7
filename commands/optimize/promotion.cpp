// SPDX-License-Identifier: Apache-2.0
#include "commands/optimize/promotion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "commands/verdict_words.hpp"

namespace warpsmith::commands {
namespace {

/// The baselines that the judge timed with the candidate. One that it could not measure is not an
/// incumbent; the report names it.
void compare_measured(std::vector<Comparison>& out, const ShapeAttempt& one) {
  const ShapeResult& t = *one.times();
  out.push_back({one.shape, "eager", t.speedup_eager.value_or(0), t.speedup_eager_interval});
  if (t.compile_ms) {
    out.push_back(
        {one.shape, "compile", t.speedup_compile.value_or(0), t.speedup_compile_interval});
  }
  for (const FurtherResult& further : t.further) {
    if (!further.ms) continue;
    out.push_back({one.shape, further.name, further.speedup.value_or(0), further.speedup_interval});
  }
}

/// A user's kernel was judged in another evaluation; eager is the common measure of the two. Both
/// intervals count in full, so the quotient's is wider than a paired one would be.
Comparison compare_with_user_kernel(const ShapeAttempt& one, const Attempt& user,
                                    const ShapeAttempt& theirs) {
  Comparison out{one.shape, user.name, 0, std::nullopt};
  const ShapeResult *mine = one.times(), *other = theirs.times();
  if (mine == nullptr || other == nullptr || !other->speedup_eager) return out;
  out.speedup = mine->speedup_eager.value_or(0) / *other->speedup_eager;
  if (!mine->speedup_eager_interval || !other->speedup_eager_interval) return out;
  const Interval& a = *mine->speedup_eager_interval;
  const Interval& b = *other->speedup_eager_interval;
  if (b.low > 0) out.interval = Interval{a.low / b.high, a.high / b.low};
  return out;
}

std::vector<Comparison> compare(const Attempt& candidate, const std::vector<Attempt>& users,
                                double margin) {
  std::vector<Comparison> out;
  for (const ShapeAttempt& one : candidate.shapes) {
    if (one.times() == nullptr) continue;
    compare_measured(out, one);
    for (const Attempt& user : users) {
      const auto theirs = std::ranges::find(user.shapes, one.shape, &ShapeAttempt::shape);
      if (theirs != user.shapes.end()) out.push_back(compare_with_user_kernel(one, user, *theirs));
    }
  }
  for (Comparison& c : out) c.clears = c.interval && c.interval->low >= 1 + margin;
  return out;
}

std::string shortfall(const Comparison& c, double margin) {
  const std::string what = "against " + c.incumbent + " on " + c.shape;
  if (!c.interval) return what + " no interval was measured";
  const char* verdict = c.interval->high < 1 ? "slower" : "not clearly faster";
  return fmt::format("{} {}: {:.3f} to {:.3f} times as fast, needed {:.3f}", verdict, what,
                     c.interval->low, c.interval->high, 1 + margin);
}

/// The first line of the feedback, and the first wrong element with its values.
std::string incorrect_reason(const ShapeAttempt& one) {
  std::string out = "not correct on " + one.shape + ": " + class_words(one.verdict);
  const std::string front = class_words(one.verdict) + ": ";
  const std::string& feedback = one.verdict.feedback;
  const std::string line = feedback.substr(0, feedback.find('\n'));
  if (line.size() > front.size() && line.starts_with(front))
    out += ": " + line.substr(front.size());
  const std::string element = wrong_element_text(one.verdict.evidence);
  return element.empty() ? out : out + "; " + element;
}

/// Why the candidate is not promoted; empty if it is.
std::string rejection_reason(const Attempt& candidate, const std::vector<Comparison>& comparisons,
                             double margin) {
  for (const ShapeAttempt& one : candidate.shapes) {
    if (!one.verdict.is_rewarded()) {
      return one.verdict.correct() ? "proves too little on " + one.shape + ": passed"
                                   : incorrect_reason(one);
    }
    if (one.times() == nullptr) return "not timed on " + one.shape;
  }
  const Comparison* worst = nullptr;
  for (const Comparison& c : comparisons) {
    if (c.clears) continue;
    if (!c.interval) return shortfall(c, margin);
    if (worst == nullptr || c.interval->low < worst->interval->low) worst = &c;
  }
  if (worst != nullptr) return shortfall(*worst, margin);
  return candidate.shapes.empty() ? "not judged" : "";
}

/// The baselines that were not timed, with the reasons.
std::vector<std::string> unmeasured_in(const Attempt& candidate) {
  std::vector<std::string> out;
  for (const ShapeAttempt& one : candidate.shapes) {
    const ShapeResult* times = one.times();
    if (times == nullptr) continue;
    if (!times->compile_ms) out.push_back("compile on " + one.shape + ": it was not timed");
    for (const FurtherResult& further : times->further) {
      if (further.ms) continue;
      out.push_back(further.name + " on " + one.shape + ": " + further.reason);
    }
  }
  return out;
}

CandidateDecision decide(const Attempt& candidate, const std::vector<Attempt>& users,
                         double margin) {
  CandidateDecision out{
      candidate.name,          false, "", score_of(candidate), compare(candidate, users, margin),
      unmeasured_in(candidate)};
  out.why = rejection_reason(candidate, out.comparisons, margin);
  out.promoted = out.why.empty();
  if (out.promoted) {
    const char* every = out.unmeasured.empty() ? "every incumbent" : "every measured incumbent";
    out.why = std::string("correct and faster than ") + every + " on every declared shape";
  }
  return out;
}

}  // namespace

double score_of(const Attempt& attempt) {
  if (!attempt.correct()) return 0;
  double sum = 0;
  for (const ShapeAttempt& one : attempt.shapes) {
    const ShapeResult* times = one.times();
    if (times == nullptr || !times->speedup_eager_interval ||
        times->speedup_eager_interval->low <= 0)
      return 0;
    sum += std::log(times->speedup_eager_interval->low);
  }
  return std::exp(sum / static_cast<double>(attempt.shapes.size()));
}

std::vector<std::string> unmeasured_incumbents(const Promotion& promotion) {
  std::vector<std::string> out;
  for (const CandidateDecision& decision : promotion.decisions) {
    for (const std::string& line : decision.unmeasured) {
      if (std::ranges::find(out, line) == out.end()) out.push_back(line);
    }
  }
  return out;
}

Promotion promote(const std::vector<Attempt>& user_kernels, const std::vector<Attempt>& candidates,
                  double margin) {
  Promotion out;
  for (size_t i = 0; i < candidates.size(); ++i) {
    out.decisions.push_back(decide(candidates[i], user_kernels, margin));
    const CandidateDecision& now = out.decisions.back();
    const bool better = !out.winner || now.score > out.decisions[*out.winner].score;
    if (now.promoted && better) out.winner = i;
  }
  return out;
}

}  // namespace warpsmith::commands
