// SPDX-License-Identifier: Apache-2.0
#include "sandbox/workspace/verdict_text.hpp"

namespace warpsmith::sandbox {

std::string verdict_text(Request request, const Verdict& verdict) {
  if (request == Request::compile && verdict.correct()) return "compiled";
  if (!verdict.feedback.empty()) return verdict.feedback;
  return std::string(to_string(verdict.outcome));
}

}  // namespace warpsmith::sandbox
