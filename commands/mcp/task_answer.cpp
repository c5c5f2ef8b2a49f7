// SPDX-License-Identifier: Apache-2.0
#include "commands/mcp/task_answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "commands/check/check_call.hpp"
#include "commands/declared_shapes.hpp"
#include "runtime/json_text.hpp"
#include "sandbox/ingest/mutant_words.hpp"

namespace warpsmith::commands {
namespace {

using nlohmann::json;
using sandbox::ContractEntry;

const char* const names_in_skill =
    "Below, `reference.py` is the module above, and `task.json` lists the tensors above (`task` in "
    "this answer's object). Give the files in the argument `files`, by their names.\n";

/// SKILL.md for an agent whose only tools are those of this server: without the tables of a
/// workspace's files and tools, and without the advice on how to end its work there.
std::string without_workspace(std::string_view skill) {
  std::string text, section;
  bool advises = false;
  std::istringstream lines{std::string(skill)};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("## ")) section = line;
    advises = line.starts_with("A good course: ") || (advises && !line.empty());
    const bool in_table = (section == "## Workspace" || section == "## Tools") &&
                          (line == section || line.starts_with('|'));
    const bool second_blank = line.empty() && text.ends_with("\n\n");
    if (!in_table && !advises && !second_blank) text += line + '\n';
  }
  return text;
}

std::string without_folder(std::string text) {
  constexpr std::string_view folder = "solution/";
  for (size_t at = text.find(folder); at != std::string::npos; at = text.find(folder, at)) {
    text.erase(at, folder.size());
  }
  return text;
}

/// The functions that declare further sizes.
std::vector<std::string> further_sizes(const Task& task) {
  std::vector<std::string> names;
  for (const DeclaredShape& one : declared_shapes(task)) names.push_back(one.function);
  names.erase(names.begin());
  return names;
}

std::string sizes_text(const std::vector<std::string>& further) {
  if (further.empty()) return {};
  return fmt::format(
      "\nThe task declares further sizes of its inputs: {}. Each tool judges a solution on all, so "
      "use the extents, not the numbers above.\n",
      fmt::join(further, ", "));
}

bool runs_on(const ContractEntry& entry, DeviceClass device) {
  if (entry.runs_on == sandbox::RunsOn::task) return true;
  return (entry.runs_on == sandbox::RunsOn::gpu) == (device == DeviceClass::cuda);
}

json names_of_contracts(DeviceClass device) {
  json names = json::array();
  for (const ContractEntry* entry : sandbox::all_contracts()) {
    if (runs_on(*entry, device)) names.push_back(std::string(entry->name));
  }
  return names;
}

/// A file as a Markdown code block, after its name.
std::string fenced(const std::string& name, const std::string& text) {
  const bool ends = text.ends_with('\n');
  return name + ":\n```\n" + text + (ends ? "" : "\n") + "```\n";
}

std::string fenced(const FileSet& files) {
  std::string text;
  for (const auto& [name, content] : files) text += fenced(name, content);
  return text;
}

/// The arguments of a call; the text of the files follows them.
std::string arguments_text(json submission) {
  for (auto& file : submission["files"]) file = "the text below, filled in";
  return fenced("submit", json_text(submission, 2));
}

std::string times_text(const TaskFacts& facts) {
  std::string text = fmt::format("PyTorch takes {:.4g} ms", facts.eager_ms);
  if (facts.compile_reason.empty()) {
    text += fmt::format(", torch.compile {:.4g} ms", facts.compile_ms);
  }
  if (!facts.insensitive.empty()) {
    text += "\nThis task cannot tell these wrong answers from right ones: " +
            sandbox::in_words(facts.insensitive);
  }
  return text + "\n";
}

FileSet headers_of(const ContractEntry& entry) {
  return entry.library_build == nullptr ? FileSet{} : entry.library_build().headers;
}

}  // namespace

Result<const ContractEntry*> contract_for(const Task& task, const std::string& named) {
  TRY_VOID(check_contract_name(named, "contract"));
  if (!named.empty()) return sandbox::find_contract(named);
  const auto& all = sandbox::all_contracts();
  const auto found = std::ranges::find_if(
      all, [&](const ContractEntry* entry) { return runs_on(*entry, task.device); });
  return found == all.end() ? all.front() : *found;
}

Result<McpAnswer> task_answer(const Task& task, const TaskFacts& facts,
                              const sandbox::ContractText& contract, const std::string& named) {
  const ContractEntry& entry = sandbox::contract_named(contract.name);
  TRY(const auto prompt, sandbox::full_prompt(task, facts.signature, contract, "mcp"));
  TRY(const auto reference, sandbox::reference_file(task.code));
  const sandbox::SubmissionForm form = entry.form(facts.signature);
  const FileSet headers = headers_of(entry);
  const json submission{{"task", named}, {"contract", entry.name}, {"files", form.files}};
  const std::string skill = without_workspace(contract.skill);
  const std::vector<std::string> further = further_sizes(task);
  const bool has_compile = facts.compile_reason.empty();
  const json body{{"id", task.id},
                  {"device", task.device == DeviceClass::cuda ? "cuda" : "cpu"},
                  {"contract", entry.name},
                  {"contracts", names_of_contracts(task.device)},
                  {"reference", reference},
                  {"task", json::parse(sandbox::task_json(task, facts.signature, contract.name))},
                  {"eager_ms", facts.eager_ms},
                  {"compile_ms", has_compile ? json(facts.compile_ms) : json(nullptr)},
                  {"entry_point", form.entry_point},
                  {"compile_line", form.compile_line},
                  {"headers", headers},
                  {"skill", skill},
                  {"further_sizes", further},
                  {"submission", submission}};
  const std::string text =
      without_folder(prompt.user) + "\n" + sizes_text(further) + times_text(facts) +
      "\nEntry point: " + form.entry_point + "\nBuilt by: " + form.compile_line +
      "\n\nHeaders that the judge provides:\n" + fenced(headers) +
      "\nArguments of a submit call to fill in (check and verify take the same):\n" +
      arguments_text(submission) + fenced(form.files) + "\n" + names_in_skill + "\n" + skill;
  return McpAnswer{.text = text, .structured = json_text(body)};
}

}  // namespace warpsmith::commands
