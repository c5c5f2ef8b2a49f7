// SPDX-License-Identifier: Apache-2.0
#include "commands/check/check_profile.hpp"

#include <iostream>

#include "runtime/run/durable_file.hpp"
#include "sandbox/profile/profile.hpp"

namespace warpsmith::commands {
namespace {

Result<void> write(const std::string& file, const Result<std::string>& text) {
  if (file.empty()) return {};
  if (!text) return tl::unexpected(text.error());
  return write_file_durably(file, *text + '\n');
}

}  // namespace

Result<void> write_profile(const CheckArguments& args, const Judgement& judgement) {
  if (args.profile.empty() && args.trace.empty()) return {};
  const auto* verdict = std::get_if<Verdict>(&judgement);
  if (verdict == nullptr || !verdict->correct()) {
    std::cerr << "no profile: only a correct solution is profiled\n";
    return {};
  }
  const auto profile = sandbox::profile_of_evidence(verdict->evidence);
  if (!profile) return fail(ErrorCode::infrastructure, "the verdict's evidence has no profile");
  if (auto written = write(args.profile, *profile); !written) return written;
  return write(args.trace, sandbox::profile_trace(*profile));
}

}  // namespace warpsmith::commands
