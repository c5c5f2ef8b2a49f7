// SPDX-License-Identifier: Apache-2.0
#include "commands/mcp/judge_tools.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "commands/check/check_call.hpp"
#include "commands/check/check_report.hpp"
#include "commands/mcp/task_answer.hpp"
#include "commands/options.hpp"
#include "commands/slots.hpp"
#include "runtime/environment.hpp"
#include "runtime/message_text.hpp"
#include "runtime/run/durable_file.hpp"
#include "sandbox/contract/contract.hpp"
#include "sandbox/plan/explain.hpp"
#include "sandbox/plan/plan_reader.hpp"
#include "sandbox/workspace/solution.hpp"
#include "synthesis/task_source.hpp"

namespace warpsmith::commands {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// --- the arguments of a call

tl::unexpected<Error> refuse(const std::string& what) {
  return fail(ErrorCode::invalid_argument, what);
}

/// A name that stays within its folder.
bool is_plain_name(const std::string& name) {
  const fs::path path{name};
  return !name.empty() && name.find('\0') == std::string::npos && path.is_relative() &&
         path.has_filename() && std::ranges::none_of(path, [](const fs::path& part) {
           return part == ".." || part == ".";
         });
}

/// The error with `name` instead of a folder of this server, which the caller cannot see.
Error without_place(Error error, const fs::path& folder, const std::string& name) {
  const std::string path = folder.string();
  for (size_t at = error.message.find(path); at != std::string::npos;
       at = error.message.find(path, at + name.size())) {
    error.message.replace(at, path.size(), name);
  }
  return error;
}

Result<void> write_one(const fs::path& folder, const std::string& name, const json& text) {
  if (!is_plain_name(name)) {
    return refuse("files: \"" + name + "\": expected a relative name without \"..\"");
  }
  if (!text.is_string()) return json_misfit("files: \"" + name + '"', "its text, a string", text);
  std::error_code error;
  fs::create_directories((folder / name).parent_path(), error);
  TRY(auto file, open_file(folder / name, O_WRONLY | O_CREAT | O_EXCL));
  return write_all(file, text.get_ref<const std::string&>(), folder / name);
}

Result<void> check_size(const json& files) {
  const sandbox::SolutionLimits limits;
  if (!files.is_object() || files.empty() || files.size() > limits.files) {
    return json_misfit(
        "files", fmt::format("an object of 1 to {} files, {{name: text}}", limits.files), files);
  }
  size_t bytes = 0;
  for (const auto& [name, text] : files.items()) {
    if (text.is_string()) bytes += text.get_ref<const std::string&>().size();
  }
  if (bytes <= limits.bytes) return {};
  return refuse(fmt::format("files: expected at most {} bytes, got {}", limits.bytes, bytes));
}

/// The file of a task named by its path or its id.
Result<std::string> task_file(const std::string& task, const std::vector<fs::path>& places) {
  std::error_code error;
  if (fs::is_regular_file(synthesis::file_of(task), error)) return task;
  TRY(const auto found, synthesis::find_tasks(places));
  const auto named = std::ranges::find(found.tasks, task, &Task::id);
  if (named != found.tasks.end()) return named->source;
  std::set<std::string> ids;
  for (const Task& one : found.tasks) ids.insert(one.id);
  const std::string nearest = nearest_name(task, ids);
  return fail(ErrorCode::not_found,
              "task: \"" + task + "\" is no file and no id; " +
                  (is_near(task, nearest) ? "the nearest is \"" + nearest + "\"; " : "") +
                  "list_tasks shows the ids");
}

Result<std::string> text_argument(const json& arguments, const char* name) {
  if (!arguments.contains(name)) return std::string{};
  if (arguments[name].is_string()) return arguments[name].get<std::string>();
  return json_misfit(name, "a string", arguments[name]);
}

Result<void> check_names(const json& arguments, const std::set<std::string>& known) {
  for (const auto& [name, value] : arguments.items()) {
    if (!known.contains(name)) return refuse(name + ": unknown argument; " + hint_for(name, known));
  }
  return {};
}

Result<bool> flag_argument(const json& arguments, const char* name) {
  const json value = arguments.value(name, json(false));
  if (value.is_boolean()) return value.get<bool>();
  return json_misfit(name, "true or false", value);
}

/// The solution: a folder or file of the caller, or files in the call.
Result<void> add_solution(const json& arguments, ToolInput& input) {
  TRY(const auto solution, text_argument(arguments, "solution"));
  if (solution.empty() != arguments.contains("files")) {
    return refuse(solution.empty()
                      ? "solution, files: expected one of solution (a path) and files ({name: "
                        "text}), got neither"
                      : "solution, files: expected one of solution (a path) and files ({name: "
                        "text}), got both");
  }
  input.check.place = solution;
  if (!solution.empty()) return {};
  TRY(auto files, write_solution(arguments["files"]));
  input.files = std::make_shared<const OwnedFolder>(std::move(files));
  input.check.place = input.files->path().string();
  return {};
}

// --- check, verify, profile

const char* const solution_schema = R"({
  "type": "object",
  "properties": {
    "task": {"type": "string", "description": "An id of list_tasks, or the path of a task file"},
    "solution": {"type": "string", "description": "Path of the solution's folder"},
    "files": {"type": "object", "additionalProperties": {"type": "string"},
              "description": "The solution's files instead: name to text, e.g. kernel.cpp"},
    "contract": {"type": "string", "description": "Default: what the files imply"},
    "numerics": {"type": "string", "enum": ["strict", "paper"],
                 "description": "Bound on errors; default: strict"},
    "jail": {"type": "boolean",
             "description": "Also say what isolates the kernel; default: false"}
  },
  "required": ["task"],
  "additionalProperties": false
})";

/// A tool's schema with the contracts that are built.
std::string with_contracts(const char* text) {
  json schema = json::parse(text);
  schema["properties"]["contract"]["enum"] = sandbox::contract_names();
  return json_text(schema);
}

McpAnswer failed(const Error& error) {
  return {.text = error.message,
          .structured = json_text(
              json{{"error", error.message}, {"code", std::string(to_string(error.code))}}),
          .is_error = true};
}

/// An infrastructure failure is an error of the call; a wrong kernel is an answer.
McpAnswer answer_of(const JudgedShapes& all, Request request, const ToolInput& input) {
  std::vector<JudgedShape> shown = all.judged;
  for (JudgedShape& one : shown) {
    auto* verdict = std::get_if<Verdict>(&one.judgement);
    if (verdict != nullptr && !input.shows_jail) verdict->jail.clear();
  }
  const auto* first = std::get_if<Verdict>(&shown.front().judgement);
  std::string text = shapes_text(shown, all.left_out, request);
  if (first != nullptr && !input.files) {
    text = with_own_name(std::move(text), first->contract, input.check.place);
  }
  return {.text = std::move(text),
          .structured = shapes_json(all.judged, request),
          .is_error = std::holds_alternative<InfraFailure>(decisive(all.judged))};
}

CheckArguments completed(CheckArguments args, const JudgeToolOptions& options, Request request) {
  args.timeout_s = options.timeout_s;
  args.keep_s = options.keep_s;
  args.gpu = options.gpu;
  args.explain = request == Request::explain;
  return args;
}

/// What a call asks to judge, read whole.
struct JudgeCall {
  CheckArguments args;
  sandbox::EvaluateRequest request;
};

Result<JudgeCall> judge_call_of(const ToolInput& input, const JudgeToolOptions& options,
                                Request request) {
  JudgeCall call{.args = completed(input.check, options, request), .request = {}};
  auto read = check_call(call.args);
  if (!read && input.files) {
    return tl::unexpected(without_place(read.error(), input.files->path(), "files"));
  }
  if (!read) return tl::unexpected(read.error());
  call.request = std::move(*read);
  call.request.want = request;
  return call;
}

/// Ends the services of a call that is cancelled.
std::shared_ptr<sandbox::EndSwitch> ender_of(CallControl& control) {
  auto ender = std::make_shared<sandbox::EndSwitch>();
  control.on_cancel([ender] { ender->end_services(); });
  return ender;
}

Result<JudgedShapes> judge(const JudgeCall& call, CallControl& control) {
  return judge_shapes(call.args, call.request, ender_of(control),
                      [&control](const std::string& line) { control.progress(line); });
}

Result<McpAnswer> judged_answer(const ToolInput& input, const JudgeToolOptions& options,
                                Request request, CallControl& control) {
  TRY(const auto call, judge_call_of(input, options, request));
  TRY(const auto judged, judge(call, control));
  return answer_of(judged, request, input);
}

McpAnswer or_failed(Result<McpAnswer> answer) {
  return answer ? std::move(*answer) : failed(answer.error());
}

McpTool judging_tool(const std::string& name, const std::string& about, Request request,
                     const JudgeToolOptions& options) {
  return {name, about, with_contracts(solution_schema),
          [options, request](const json& arguments, CallControl& control) -> McpAnswer {
            const auto input = read_tool_input(arguments, options.tasks);
            if (!input) return failed(input.error());
            return or_failed(judged_answer(*input, options, request, control));
          }};
}

// --- submit

constexpr size_t most_kept_answers = 1024;  // of each task; later submissions are judged each time

/// The final verdicts on one task since the server started.
struct TaskSubmissions {
  int count = 0;
  std::optional<double> best;               // speed-up against eager
  std::map<std::string, McpAnswer> judged;  // by what was judged
};

/// By what the task says: one file has many paths, and copies.
using AllSubmissions = std::map<std::string, TaskSubmissions>;

/// Equal for resubmissions that would be judged alike.
std::string identity_of(const JudgeCall& call) {
  return call.request.submission.contract + ' ' + call.args.numerics + ' ' +
         source_hash(call.request.submission.files);
}

McpAnswer count_submission(McpAnswer answer, TaskSubmissions& of_task) {
  if (answer.is_error) return answer;  // a failure of the judge does not count
  json body = json::parse(answer.structured);
  ++of_task.count;
  if (body.value("correct", false) && body["speedup_eager"].is_number()) {
    of_task.best = std::max(of_task.best.value_or(0), body["speedup_eager"].get<double>());
  }
  body["submission"] = of_task.count;
  body["best_speedup_eager"] = nullable(of_task.best);
  body["repeated"] = false;
  answer.structured = json_text(body);
  answer.text += fmt::format("  submission {} of this task\n", of_task.count);
  return answer;
}

/// The answer that the same submission had.
McpAnswer repeated(McpAnswer answer) {
  json body = json::parse(answer.structured);
  body["repeated"] = true;
  answer.structured = json_text(body);
  answer.text += "  the same submission was judged before: it is not counted again\n";
  return answer;
}

Result<McpAnswer> submit(const ToolInput& input, const JudgeToolOptions& options,
                         AllSubmissions& all, CallControl& control) {
  TRY(const auto call, judge_call_of(input, options, Request::final));
  TaskSubmissions& of_task = all[call.request.task.content_hash];
  const std::string identity = identity_of(call);
  if (const auto before = of_task.judged.find(identity); before != of_task.judged.end()) {
    return repeated(before->second);
  }
  if (options.max_submissions > 0 && of_task.count >= options.max_submissions) {
    return fail(ErrorCode::capacity,
                fmt::format("all {} submissions of this task are used", options.max_submissions));
  }
  TRY(const auto judged, judge(call, control));
  McpAnswer answer = count_submission(answer_of(judged, Request::final, input), of_task);
  const bool keep = !answer.is_error && of_task.judged.size() < most_kept_answers;
  if (keep) of_task.judged.emplace(identity, answer);
  return answer;
}

McpTool submit_tool(const JudgeToolOptions& options) {
  const auto all = std::make_shared<AllSubmissions>();
  return {"submit",
          "The final verdict on a solution. It is counted, except if the same was judged before.",
          with_contracts(solution_schema),
          [options, all](const json& arguments, CallControl& control) -> McpAnswer {
            const auto input = read_tool_input(arguments, options.tasks);
            if (!input) return failed(input.error());
            return or_failed(submit(*input, options, *all, control));
          }};
}

// --- read_task

const char* const task_schema = R"({
  "type": "object",
  "properties": {
    "task": {"type": "string", "description": "An id of list_tasks, or the path of a task file"},
    "contract": {"type": "string", "description": "Default: the first for the task's device"}
  },
  "required": ["task"],
  "additionalProperties": false
})";

DeviceClass device_of(const sandbox::ContractEntry& contract, const Task& task) {
  if (contract.runs_on == sandbox::RunsOn::task) return host_device(task);
  return contract.runs_on == sandbox::RunsOn::gpu ? DeviceClass::cuda : DeviceClass::cpu;
}

/// Measures the task as the first check of it would, or reads what was measured here.
Result<TaskFacts> facts_of(const Task& task, const std::string& contract,
                           const JudgeToolOptions& options, CallControl& control) {
  SandboxConfig config;
  config.contract = slot_contract(contract, task.device);
  config.first_gpu = options.gpu;
  config.baselines = selected_baselines(CheckArguments{}.baselines);  // as checks of the task do
  TRY(auto slots, take_slots(config));
  slots.front().keep_s = static_cast<uint32_t>(options.keep_s);
  TRY(const auto backend, service_backend(slots.front(), ender_of(control))());
  backend->on_progress([&control](const std::string& line) { control.progress(line); });
  return backend->ingest(task, Deadline::after(std::chrono::seconds{options.timeout_s}));
}

Result<McpAnswer> read_task(const json& arguments, const JudgeToolOptions& options,
                            CallControl& control) {
  constexpr size_t most_skill_bytes = size_t{1} << 20U;
  TRY_VOID(check_names(arguments, {"task", "contract"}));
  TRY(const auto named, text_argument(arguments, "task"));
  if (named.empty()) return refuse("task: expected a path or an id, got none");
  TRY(const auto file, task_file(named, options.tasks));
  TRY(auto task, synthesis::load_task(file));
  TRY(const auto asked, text_argument(arguments, "contract"));
  TRY(const auto* contract, contract_for(task, asked));
  task.device = device_of(*contract, task);
  const std::string name{contract->name};
  TRY(const auto skill,
      read_text_file(source_folder() / sandbox::skill_file(name), most_skill_bytes));
  TRY(const auto facts, facts_of(task, name, options, control));
  return task_answer(task, facts, {name, skill}, named);
}

McpTool read_task_tool(const JudgeToolOptions& options) {
  return {"read_task",
          "All that is needed to solve a task: its PyTorch module, tensors, extents and times, the "
          "entry point, headers, how a solution is built, the rules, and the arguments of a submit "
          "call to fill in. The first call for a task measures it, which takes up to a minute.",
          with_contracts(task_schema),
          [options](const json& arguments, CallControl& control) -> McpAnswer {
            return or_failed(read_task(arguments, options, control));
          }};
}

// --- list_tasks

McpAnswer list_tasks(const JudgeToolOptions& options) {
  const auto found = synthesis::find_tasks(options.tasks);
  if (!found) return failed(found.error());
  json list = json::array();
  std::string text;
  for (const Task& task : found->tasks) {
    const char* device = task.device == DeviceClass::cuda ? "cuda" : "cpu";
    list.push_back({{"id", task.id}, {"file", task.source}, {"device", device}});
    text += task.id + "  " + device + "  " + task.source + '\n';
  }
  if (text.empty()) text = "no tasks; start the server with --tasks FOLDER\n";
  return {.text = text, .structured = json_text(json{{"tasks", list}})};
}

McpTool list_tool(const JudgeToolOptions& options) {
  return {"list_tasks", "The tasks that can be solved: id, device and file.",
          R"({"type": "object", "properties": {}, "additionalProperties": false})",
          [options](const json& arguments, CallControl&) -> McpAnswer {
            if (!arguments.empty()) {
              return failed(
                  {ErrorCode::invalid_argument,
                   arguments.begin().key() + ": unknown argument; list_tasks takes no arguments"});
            }
            return list_tasks(options);
          }};
}

// --- explain_plan

const char* const plan_schema = R"({
  "type": "object",
  "properties": {"plan": {"type": "string", "description": "The text of plan.toml"}},
  "required": ["plan"],
  "additionalProperties": false
})";

Result<std::string> plan_argument(const json& arguments) {
  TRY_VOID(check_names(arguments, {"plan"}));
  if (!arguments.contains("plan")) {
    return refuse("plan: expected the text of plan.toml, got nothing");
  }
  return text_argument(arguments, "plan");
}

McpAnswer explain_plan(const std::string& text) {
  const auto plan = sandbox::read_plan(text);
  if (!plan) {
    return {.text = plan.error().message,
            .structured = json_text(json{{"valid", false}, {"errors", plan.error().message}})};
  }
  const std::string words = sandbox::describe(*plan);
  return {.text = words, .structured = json_text(json{{"valid", true}, {"explanation", words}})};
}

McpTool explain_tool() {
  return {"explain_plan",
          "Reads a launch plan of contract device (plan.toml): what it does, step by step, or its "
          "errors as plan.toml:LINE:COLUMN. Nothing runs; names of the task are not looked up.",
          plan_schema, [](const json& arguments, CallControl&) -> McpAnswer {
            const auto plan = plan_argument(arguments);
            return plan ? explain_plan(*plan) : failed(plan.error());
          }};
}

}  // namespace

Result<OwnedFolder> write_solution(const json& files) {
  TRY_VOID(check_size(files));
  TRY(auto folder, OwnedFolder::make_temporary());
  for (const auto& [name, text] : files.items()) {
    const auto written = write_one(folder.path(), name, text);
    if (!written) return tl::unexpected(without_place(written.error(), folder.path(), "files"));
  }
  return folder;
}

Result<ToolInput> read_tool_input(const json& arguments, const std::vector<fs::path>& places) {
  TRY_VOID(check_names(arguments, {"task", "solution", "files", "contract", "numerics", "jail"}));
  ToolInput input;
  TRY(const auto jail, flag_argument(arguments, "jail"));
  input.shows_jail = jail;
  for (const auto& [name, to] :
       {std::pair{"task", &input.task}, std::pair{"contract", &input.check.contract},
        std::pair{"numerics", &input.check.numerics}}) {
    TRY(auto text, text_argument(arguments, name));
    if (!text.empty()) *to = std::move(text);
  }
  if (input.task.empty()) return refuse("task: expected a path or an id, got none");
  if (input.check.numerics != "strict" && input.check.numerics != "paper") {
    return refuse("numerics: expected strict or paper, got \"" + input.check.numerics + "\"");
  }
  TRY_VOID(check_contract_name(input.check.contract, "contract"));
  TRY(auto file, task_file(input.task, places));
  input.check.task = std::move(file);
  TRY_VOID(add_solution(arguments, input));
  return input;
}

std::vector<McpTool> judge_tools(const JudgeToolOptions& options) {
  return {
      list_tool(options),
      read_task_tool(options),
      judging_tool("check", "Is a solution correct, and how fast compared with eager and compiled?",
                   Request::final, options),
      judging_tool("verify", "Is a solution correct? Nothing is timed.", Request::verify, options),
      judging_tool("profile",
                   "Like check, with bandwidth and arithmetic rates; on a GPU with the kernels "
                   "that ran.",
                   Request::profile, options),
      explain_tool(),
      submit_tool(options)};
}

}  // namespace warpsmith::commands
