// SPDX-License-Identifier: Apache-2.0
// How an error of ours becomes the failure that a caller sees.
#pragma once

#include "runtime/result.hpp"
#include "runtime/task.hpp"
#include "runtime/verdict.hpp"

namespace warpsmith::sandbox {

/// A value, or a failure that is not the candidate's.
template <class T>
using OrInfra = tl::expected<T, InfraFailure>;

/// The failure that the error's code names; `otherwise` where the code names none.
InfraFailure infra_of(const Error& error, InfraKind otherwise);

/// The error with the task's file, or its name, in front.
Error named(Error error, const Task& task);

}  // namespace warpsmith::sandbox
