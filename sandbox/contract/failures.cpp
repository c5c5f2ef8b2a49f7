// SPDX-License-Identifier: Apache-2.0
#include "sandbox/contract/failures.hpp"

namespace warpsmith::sandbox {

InfraFailure infra_of(const Error& error, InfraKind otherwise) {
  switch (error.code) {
    case ErrorCode::timeout:
      return {InfraKind::deadline, error.message};
    case ErrorCode::unsupported:
      return {InfraKind::jail_unavailable, error.message};
    case ErrorCode::disk_full:
    case ErrorCode::io_failed:
      return {InfraKind::disk, error.message};
    case ErrorCode::process_failed:
      return {InfraKind::sandbox_lost, error.message};
    case ErrorCode::invalid_argument:
      return {InfraKind::task_refused, error.message};
    default:
      return {otherwise, error.message};
  }
}

Error named(Error error, const Task& task) {
  error.message = (task.source.empty() ? task.id : task.source) + ": " + error.message;
  return error;
}

}  // namespace warpsmith::sandbox
