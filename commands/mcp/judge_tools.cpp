// SPDX-License-Identifier: Apache-2.0
#include "commands/mcp/judge_tools.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "commands/check/check_report.hpp"
#include "commands/check/judge_call.hpp"
#include "commands/mcp/tool_arguments.hpp"
#include "sandbox/contract/registry.hpp"
#include "sandbox/plan/describe.hpp"
#include "sandbox/plan/plan_reader.hpp"
#include "synthesis/task_source.hpp"

namespace warpsmith::commands {
namespace {

using nlohmann::json;

const char* const solution_schema = R"({
  "type": "object",
  "properties": {
    "task": {"type": "string", "description": "An id of list_tasks, or the path of a task file"},
    "solution": {"type": "string", "description": "Path of the solution's folder"},
    "files": {"type": "object", "additionalProperties": {"type": "string"},
              "description": "The solution's files instead: name to text, e.g. kernel.cpp"},
    "contract": {"type": "string", "description": "Default: what the files imply"},
    "numerics": {"type": "string", "enum": ["strict", "paper"],
                 "description": "Bound on errors; default: strict"}
  },
  "required": ["task"],
  "additionalProperties": false
})";

/// The schema, with the contracts that are built.
std::string judging_schema() {
  json schema = json::parse(solution_schema);
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
McpAnswer answer_of(const Judgement& judgement, Request request) {
  return {.text = judgement_text(judgement, request),
          .structured = judgement_json(judgement, request),
          .is_error = std::holds_alternative<InfraFailure>(judgement)};
}

CheckArguments completed(CheckArguments args, const JudgeToolOptions& options, Request request) {
  args.timeout_s = options.timeout_s;
  args.keep_s = options.keep_s;
  args.gpu = options.gpu;
  args.explain = request == Request::explain;
  return args;
}

Result<Judgement> judge(const ToolInput& input, const JudgeToolOptions& options, Request request,
                        CallControl& control) {
  const CheckArguments args = completed(input.check, options, request);
  auto call = check_call(args);
  if (!call) return tl::unexpected(call.error());
  call->request = request;
  const auto ender = std::make_shared<sandbox::EndSwitch>();
  control.on_cancel([ender] { ender->end_services(); });
  return judge_call(args, *call, ender,
                    [&control](const std::string& line) { control.progress(line); });
}

McpTool judging_tool(const std::string& name, const std::string& about, Request request,
                     const JudgeToolOptions& options) {
  return {name, about, judging_schema(),
          [options, request](const json& arguments, CallControl& control) -> McpAnswer {
            const auto input = read_tool_input(arguments, options.tasks);
            if (!input) return failed(input.error());
            const auto judgement = judge(*input, options, request, control);
            return judgement ? answer_of(*judgement, request) : failed(judgement.error());
          }};
}

// --- submit

/// Final verdicts by task, for as long as the server runs.
struct Submissions {
  int count = 0;
  std::optional<double> best;  // speed-up against eager
};

McpAnswer counted(const Judgement& judgement, Submissions& of_task) {
  McpAnswer answer = answer_of(judgement, Request::final);
  if (answer.is_error) return answer;  // a failure of the judge does not count
  json body = json::parse(answer.structured);
  ++of_task.count;
  if (body.value("correct", false) && body["speedup_eager"].is_number()) {
    of_task.best = std::max(of_task.best.value_or(0), body["speedup_eager"].get<double>());
  }
  body["submission"] = of_task.count;
  body["best_speedup_eager"] = nullable(of_task.best);
  answer.structured = json_text(body);
  answer.text += "  submission " + std::to_string(of_task.count) + " of this task\n";
  return answer;
}

McpTool submit_tool(const JudgeToolOptions& options) {
  const auto all = std::make_shared<std::map<std::string, Submissions>>();
  return {"submit", "The final verdict on a solution. It is counted.", judging_schema(),
          [options, all](const json& arguments, CallControl& control) -> McpAnswer {
            const auto input = read_tool_input(arguments, options.tasks);
            if (!input) return failed(input.error());
            // By what the task says: one file has many paths, and copies.
            const auto task = synthesis::load_task(input->check.task);
            if (!task) return failed(task.error());
            Submissions& of_task = (*all)[task->content_hash];
            if (options.max_submissions > 0 && of_task.count >= options.max_submissions) {
              return failed({ErrorCode::capacity, "all " + std::to_string(options.max_submissions) +
                                                      " submissions of this task are used"});
            }
            const auto judgement = judge(*input, options, Request::final, control);
            return judgement ? counted(*judgement, of_task) : failed(judgement.error());
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
              return failed({ErrorCode::invalid_argument, "list_tasks takes no arguments"});
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
            const bool fits = arguments.size() == 1 && arguments.contains("plan") &&
                              arguments["plan"].is_string();
            if (fits) return explain_plan(arguments["plan"].get<std::string>());
            return failed({ErrorCode::invalid_argument,
                           "expected one argument, plan: the text of plan.toml"});
          }};
}

}  // namespace

std::vector<McpTool> judge_tools(const JudgeToolOptions& options) {
  return {
      list_tool(options),
      judging_tool("check", "Is a solution correct, and how fast beside eager and compiled?",
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
