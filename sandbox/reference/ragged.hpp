// SPDX-License-Identifier: Apache-2.0
// Hidden ragged shapes: further sizes that a task's text names for its inputs. Submissions are
// verified on them; nobody who writes one is shown them.
#pragma once

#include <optional>
#include <string>

#include "runtime/task.hpp"

namespace warpsmith::sandbox {

/// The task on its ragged shapes: the same text, in which `get_ragged_inputs` takes the place of
/// `get_inputs`. Nothing where the text defines no such function at its top level. Pure.
std::optional<Task> ragged_task(const Task& task);

/// The task as it may be shown: its text without that function, lines numbered as before. Pure.
Task shown_task(const Task& task);

/// Why what is written for `shown` cannot be held to `ragged` too; empty if it can. Parameters stay
/// as they are, extents that have one name keep one, and some extent differs. Pure.
std::string ragged_complaint(const TaskSignature& shown, const TaskSignature& ragged);

}  // namespace warpsmith::sandbox
