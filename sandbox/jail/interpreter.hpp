// SPDX-License-Identifier: Apache-2.0
// What a jail shows of a Python interpreter.
#pragma once

#include <string>

#include "runtime/result.hpp"
#include "sandbox/jail/jail.hpp"

namespace warpsmith::sandbox {

/// Shows the interpreter `python` under its own path: the parts of its virtual environment and of
/// the installation behind it that Python reads, and the links between them. A link's folder is not
/// shown: it may be a home. `unsupported`, with the remedy, if there is no installation, or if it
/// is spread over a home. Call it after `spec` shows the system's folders.
Result<void> show_interpreter(JailSpec& spec, const std::string& python);

}  // namespace warpsmith::sandbox
