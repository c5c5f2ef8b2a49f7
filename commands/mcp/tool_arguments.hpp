// SPDX-License-Identifier: Apache-2.0
// Arguments of the judge's tools as `check` takes them.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "commands/check_input.hpp"
#include "runtime/json_text.hpp"
#include "runtime/run/owned_folder.hpp"

namespace warpsmith::commands {

/// A solution given as files; its folder ends with it.
class GivenFiles {
 public:
  /// Writes the files, {name: text}. Names are relative, without "..".
  static Result<std::shared_ptr<GivenFiles>> write(const nlohmann::json& files);
  std::filesystem::path folder() const { return folder_.path(); }

 private:
  explicit GivenFiles(OwnedFolder folder) : folder_(std::move(folder)) {}
  OwnedFolder folder_;
};

/// What a call names.
struct ToolInput {
  CheckArguments check;
  std::string task;                   // as the call named it
  std::shared_ptr<GivenFiles> files;  // empty: the solution is a folder of the caller's
};

/// Reads task, solution or files, contract and numerics. A task is a path or an id of those in
/// `places`. Unknown arguments are refused by name.
Result<ToolInput> read_tool_input(const nlohmann::json& arguments,
                                  const std::vector<std::filesystem::path>& places);

}  // namespace warpsmith::commands
