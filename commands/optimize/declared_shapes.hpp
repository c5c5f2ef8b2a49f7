// SPDX-License-Identifier: Apache-2.0
// The shapes that an operator's file declares. Pure.
#pragma once

#include <string>
#include <vector>

#include "runtime/task.hpp"

namespace warpsmith::commands {

/// One size of the inputs, as a task of its own.
struct DeclaredShape {
  std::string function;  // that declares it: "get_inputs", "get_ragged_inputs", "get_inputs_NAME"
  Task task;             // the operator with this function in the place of `get_inputs`
};

/// `get_inputs` comes first, then the others in the order of the file. The judge times
/// `get_inputs`, so the two names are exchanged in the text of the others.
std::vector<DeclaredShape> declared_shapes(const Task& task);

}  // namespace warpsmith::commands
