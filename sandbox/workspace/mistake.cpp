// SPDX-License-Identifier: Apache-2.0
#include "sandbox/workspace/mistake.hpp"

#include <nlohmann/json.hpp>

#include "runtime/run/durable_file.hpp"
#include "sandbox/workspace/solution.hpp"
#include "sandbox/workspace/text_edit.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr size_t most_bytes = 64U << 10U;

Result<void> edit(FileSet& files, const std::string& name, const std::string& edits) {
  const auto file = files.find(name);
  if (file == files.end()) return fail(ErrorCode::not_found, "the solution has no " + name);
  const auto parsed = parse_edits(edits);
  if (!parsed) return fail(name, parsed.error());
  auto edited = apply_edits(std::move(file->second), *parsed, SolutionLimits{}.bytes);
  if (!edited) return fail(name, std::move(edited.error()));
  file->second = std::move(edited->text);
  return {};
}

}  // namespace

Result<FileSet> with_mistake(FileSet files, const std::filesystem::path& mistake) {
  const auto text = read_text_file(mistake, most_bytes);
  if (!text) return tl::unexpected(text.error());
  const auto json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.value("edits", nlohmann::json()).is_object()) {
    return fail(ErrorCode::parse_failed,
                mistake.string() + ": expected an object with \"mistake\" and \"edits\"");
  }
  for (const auto& [name, edits] : json["edits"].items()) {
    if (auto done = edit(files, name, edits.dump()); !done) {
      return fail(mistake.string(), std::move(done.error()));
    }
  }
  return files;
}

}  // namespace warpsmith::sandbox
