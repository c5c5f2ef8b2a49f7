// SPDX-License-Identifier: Apache-2.0
#include "sandbox/contract/host/host_submission.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sandbox/compile/diagnostics.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr size_t longest_name = 128;
constexpr std::string_view sources_folder = "kernels/";
constexpr std::array<std::string_view, 4> provided{"binding.cpp", "binding_registry.h", "model.py",
                                                   "reference.py"};
constexpr const char* expected =
    "contract host takes model_new.py, other *.py beside it, and in kernels/ *.cu, *_binding.cpp "
    "and headers";

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.' || c == '/';
}

/// A relative path of plain names, none of them hidden.
bool is_plain_path(std::string_view name) {
  if (name.empty() || name.size() > longest_name || !std::ranges::all_of(name, is_name_character)) {
    return false;
  }
  for (size_t at = 0; at <= name.size();) {
    const size_t slash = std::min(name.find('/', at), name.size());
    const bool empty_or_hidden = slash == at || name[at] == '.';
    if (empty_or_hidden || name[at] == '-') return false;
    at = slash + 1;
  }
  return true;
}

bool is_header(std::string_view name) {
  return name.ends_with(".h") || name.ends_with(".hpp") || name.ends_with(".cuh") ||
         name.ends_with(".inc");
}

bool is_compiled(std::string_view name) {
  return name.ends_with(".cu") || name.ends_with("_binding.cpp");
}

/// Why the content is not text; empty if it is.
std::string not_text(std::string_view content) {
  for (size_t at = 0, bytes = 0; at < content.size(); at += bytes) {
    if (content[at] == '\0') return fmt::format("byte {} is zero", at);
    bytes = character_bytes(content, at);
    if (bytes == 0) return fmt::format("byte {} is not UTF-8", at);
  }
  return "";
}

/// Adds the file to the submission, or says why it does not belong there.
std::string place(HostSubmission& submission, const std::string& name, const std::string& content) {
  if (!is_plain_path(name)) {
    return fmt::format(
        "a file's name must be a relative path of letters, digits and _ - . of at most {} bytes",
        longest_name);
  }
  if (std::ranges::find(provided, name) != provided.end()) return "";
  if (std::string why = not_text(content); !why.empty()) return name + " is no text: " + why;
  if (name.ends_with(".py") && name.find('/') == std::string::npos) {
    submission.modules[name] = content;
    return "";
  }
  if (!name.starts_with(sources_folder) || !(is_compiled(name) || is_header(name))) {
    return name + ": " + expected;
  }
  submission.sources[name] = content;
  if (is_compiled(name)) submission.compiled.push_back(name);
  return "";
}

std::string layout_complaint(const HostSubmission& submission) {
  const auto module = submission.modules.find(host_module_file);
  if (module == submission.modules.end()) return "solution/model_new.py is missing";
  if (module->second.find("ModelNew") == std::string::npos) {
    return "model_new.py defines no class ModelNew";
  }
  const bool binds = std::ranges::any_of(
      submission.compiled, [](const std::string& name) { return name.ends_with("_binding.cpp"); });
  if (!submission.sources.empty() && !binds) {
    return "kernels/ holds no *_binding.cpp: what registers functions for model_new.py";
  }
  return "";
}

/// Decides which jail runs the submission first. A submission that hides the call from this search
/// finds no compilers.
bool asks_torch_to_build(const FileSet& modules) {
  return std::ranges::any_of(modules, [](const auto& file) {
    return file.second.find("cpp_extension") != std::string::npos;
  });
}

}  // namespace

OrFailed<HostSubmission> host_submission(const FileSet& files, int64_t most_bytes) {
  const auto refused = [](std::string text) {
    return tl::unexpected(failed_compiling(VerdictClass::compile_error, std::move(text)));
  };
  if (auto unfit = unfit_sources(files, host_module_file, most_bytes)) {
    return tl::unexpected(std::move(*unfit));
  }
  HostSubmission submission;
  for (const auto& [name, content] : files) {
    if (std::string why = place(submission, name, content); !why.empty()) return refused(why);
  }
  if (std::string why = layout_complaint(submission); !why.empty()) return refused(why);
  if (!submission.compiled.empty()) {
    submission.artefact = HostArtefact::extension;
  } else if (asks_torch_to_build(submission.modules)) {
    submission.artefact = HostArtefact::built;
  }
  return submission;
}

}  // namespace warpsmith::sandbox
