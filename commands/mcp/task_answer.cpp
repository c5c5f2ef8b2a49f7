// SPDX-License-Identifier: Apache-2.0
#include "commands/mcp/task_answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "commands/check/check_call.hpp"
#include "runtime/json_text.hpp"

namespace warpsmith::commands {
namespace {

using nlohmann::json;
using sandbox::ContractEntry;

const char* const no_workspace =
    "Here is no workspace, and no tools but those of this server: give the files in the argument "
    "`files`, by their names without `solution/`.\n";

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

std::string times_text(const TaskFacts& facts) {
  std::string text = fmt::format("PyTorch takes {:.4g} ms", facts.eager_ms);
  if (facts.compile_reason.empty()) {
    text += fmt::format(", torch.compile {:.4g} ms", facts.compile_ms);
  }
  if (!facts.insensitive.empty()) {
    text += "\nThis task cannot tell these wrong answers from right ones: " + facts.insensitive;
  }
  return text + "\n";
}

FileSet headers_of(const ContractEntry& entry) {
  return entry.library_build == nullptr ? FileSet{} : entry.library_build().headers;
}

}  // namespace

Result<const ContractEntry*> contract_for(const Task& task, const std::string& named) {
  TRY_VOID(check_contract_name(named));
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
                  {"skill", contract.skill},
                  {"submission", submission}};
  const std::string text =
      prompt.user + "\n" + times_text(facts) + "\nEntry point: " + form.entry_point +
      "\nBuilt by: " + form.compile_line + "\n\nHeaders that the judge provides:\n" +
      fenced(headers) +
      "\nArguments of a submit call to fill in (check and verify take the same):\n" +
      fenced("submit", json_text(submission, 2)) + fenced(form.files) + "\n" + no_workspace + "\n" +
      std::string(contract.skill);
  return McpAnswer{.text = text, .structured = json_text(body)};
}

}  // namespace warpsmith::commands
