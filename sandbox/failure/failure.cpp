// SPDX-License-Identifier: Apache-2.0
#include "sandbox/failure/failure.hpp"

#include <filesystem>

#include "runtime/message_text.hpp"

namespace warpsmith::sandbox {
namespace {

InfraKind kind_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::timeout:
      return InfraKind::deadline;
    case ErrorCode::unsupported:
      return InfraKind::jail_unavailable;
    case ErrorCode::disk_full:
    case ErrorCode::io_failed:
      return InfraKind::disk;
    case ErrorCode::process_failed:
      return InfraKind::sandbox_lost;
    default:
      return InfraKind::reference_failed;
  }
}

}  // namespace

tl::unexpected<Failure> fail(const std::string& place, Failure failure) {
  failure.message = place + ": " + failure.message;
  return tl::unexpected<Failure>{std::move(failure)};
}

Failure refusal(std::string why) {
  return {Blame::task, ErrorCode::invalid_argument, std::move(why)};
}

Failure named(Failure failure, const Task& task) {
  const std::filesystem::path file{task.source};
  // Rows of a data set have no lines of their own in its file.
  if (file.extension() == ".py") {
    failure.message = with_file_name(failure.message, "task.py", file.filename().string());
  }
  failure.message = (task.source.empty() ? task.id : task.source) + ": " + failure.message;
  return failure;
}

InfraFailure infra_of(const Failure& failure) {
  const bool refused = failure.blame == Blame::task;
  return {refused ? InfraKind::task_refused : kind_of(failure.code), failure.message};
}

Error error_of(Failure failure) {
  const bool refused = failure.blame == Blame::task;
  return {refused ? ErrorCode::invalid_argument : failure.code, std::move(failure.message)};
}

Failure failure_of(const Fault& fault, const std::string& place) {
  const bool cut = fault.outcome == VerdictClass::timeout;
  return {fault.blame, cut ? ErrorCode::timeout : ErrorCode::infrastructure,
          place + ": " + fault.detail};
}

}  // namespace warpsmith::sandbox
