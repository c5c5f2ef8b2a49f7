// SPDX-License-Identifier: Apache-2.0
// Hidden ragged shapes: further sizes of a task's inputs. Submissions are verified on them, and
// their authors do not see them.
#pragma once

#include <optional>
#include <string>

#include "runtime/task.hpp"

namespace warpsmith::sandbox {

/// The task on its ragged shapes: the same text with `get_ragged_inputs` in place of `get_inputs`.
/// Nothing if the text does not define that function at its top level. Pure.
std::optional<Task> ragged_task(const Task& task);

/// The task as shown to authors: without that function's text, with the same line numbers. Pure.
Task shown_task(const Task& task);

/// Why a submission for `shown` cannot be verified on `ragged`; empty if it can. Parameters must be
/// equal, extents with one name must keep one, and some extent must differ. Pure.
std::string ragged_complaint(const TaskSignature& shown, const TaskSignature& ragged);

}  // namespace warpsmith::sandbox
