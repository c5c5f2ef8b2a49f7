// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/candidate_calls.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "sandbox/judge/computing_libraries.hpp"

namespace warpsmith::sandbox {
namespace {

std::vector<std::string> libraries_of(pid_t pid) {
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  return computing_libraries({std::istreambuf_iterator<char>(maps), {}});
}

}  // namespace

CallResult CandidateCalls::load(Patience patience) {
  if (job_.stage != nullptr) libraries_before_ = libraries_of(candidate_.process().pid());
  const OwnClock own(job_.own);
  return candidate_.load(patience);
}

CallResult CandidateCalls::call(uint32_t set, Patience patience) {
  const OwnClock own(job_.own);
  CandidateStage* const stage = job_.stage;
  if (stage == nullptr) return candidate_.call(set, patience);
  stage->arm(set, draw_positions(job_.bench.signature(), stage->memory().layout, random_));
  const CallEdges edges{[&] { stage->reveal(set); }, [&] { stage->sample(); }};
  CallResult result = candidate_.call(0, patience, edges);
  if (!result.fault && !stage->take(set)) {
    result.fault = Fault{VerdictClass::wrong, "outputs changed after the kernel said it was done"};
  }
  return result;
}

std::optional<StageFacts> CandidateCalls::facts() {
  if (job_.stage == nullptr) return std::nullopt;
  StageFacts facts{.on_device = job_.on_device,
                   .reveal_ms = in_ms(candidate_.reveal()),
                   .output_copy_ms = in_ms(candidate_.own_work()),
                   .noop_ms = in_ms(candidate_.noop())};
  if (!candidate_.process().alive()) return facts;
  const std::vector<std::string> now = libraries_of(candidate_.process().pid());
  std::ranges::set_difference(now, libraries_before_, std::back_inserter(facts.libraries));
  return facts;
}

}  // namespace warpsmith::sandbox
