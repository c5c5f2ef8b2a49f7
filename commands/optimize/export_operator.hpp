// SPDX-License-Identifier: Apache-2.0
// The custom op of an exported package: C++ around a library or a plan, Python around a module.
// Pure.
#pragma once

#include <string>

#include "commands/optimize/export_package.hpp"
#include "commands/optimize/export_templates.hpp"

namespace warpsmith::commands {

const ExportTexts& export_texts(ExportForm form);

/// csrc/op.cpp of the forms `library` and `plan`.
std::string operator_source(const ExportedKernel& kernel);
/// op.py of the form `module`.
std::string operator_module(const ExportedKernel& kernel);

/// TEXT with BY in the place of each MARK.
std::string replaced(std::string text, std::string_view mark, std::string_view by);

}  // namespace warpsmith::commands
