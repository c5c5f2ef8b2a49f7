// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/final_verdict.hpp"

namespace warpsmith::commands {
namespace {

constexpr std::chrono::minutes budget{10};  // the first one may measure the task

bool is_noise(const Judgement& judgement) {
  const auto* failure = std::get_if<InfraFailure>(&judgement);
  return failure != nullptr && failure->kind == InfraKind::noise;
}

}  // namespace

FinalVerdict final_verdict(SandboxBackend& backend, const Task& task,
                           const Submission& submission) {
  FinalVerdict answer{backend.evaluate(task, submission, Request::final, budget)};
  while (is_noise(answer.judgement) && answer.retries + 1 < max_noisy) {
    ++answer.retries;
    answer.judgement = backend.evaluate(task, submission, Request::final, budget);
  }
  return answer;
}

}  // namespace warpsmith::commands
