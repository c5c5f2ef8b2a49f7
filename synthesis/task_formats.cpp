// SPDX-License-Identifier: Apache-2.0
#include "synthesis/task_formats.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "runtime/run/durable_file.hpp"
#include "synthesis/flashinfer_tasks.hpp"
#include "synthesis/python_text.hpp"

namespace warpsmith::synthesis {
namespace {

namespace fs = std::filesystem;
using Type = JsonType;

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";  // Python skips it as well

constexpr Needed model_class{"class", "Model"}, inputs_function{"def", "get_inputs"},
    init_function{"def", "get_init_inputs"}, forward_function{"def", "forward_fn"},
    groups_function{"def", "get_input_groups"}, autograd_class{"class", "AutogradFunction"};

// --- robust-kbench: defaults in the functions' signatures, other values in a configuration

constexpr std::string_view robust_task = "func_forward.py", robust_backward = "func_backward.py";

/// func_forward.py: config_forward.json.
fs::path configuration_of(const fs::path& file) {
  const std::string stem = file.stem().string();
  const std::string kind = stem.starts_with("func_") ? stem.substr(5) : "forward";
  return file.parent_path() / ("config_" + kind + ".json");
}

using Settings = std::vector<const OrderedJson*>;  // objects
constexpr size_t most_settings = 32;               // of a list; the lists are combined

/// The list of objects with that name, at least one.
Result<Settings> settings_of(const OrderedJson& configuration, const std::string& key) {
  TRY(const OrderedJson* list, member(configuration, key, Type::array));
  if (list->size() > most_settings) {
    return fail(ErrorCode::parse_failed,
                key + ": expected at most 32 objects, got " + std::to_string(list->size()));
  }
  Settings out;
  for (const OrderedJson& item : *list) {
    if (!item.is_object()) {
      return fail(ErrorCode::parse_failed, key + ": expected objects, got " + shown(item));
    }
    out.push_back(&item);
  }
  if (out.empty()) return fail(ErrorCode::parse_failed, key + ": expected an object, got []");
  return out;
}

/// Arguments of `Model` and of `get_inputs`.
struct Setting {
  OrderedJson init, inputs;
  bool operator==(const Setting&) const = default;
};

/// Shared values come last, so that they replace others.
Setting combined(const OrderedJson& init, const OrderedJson& inputs, const OrderedJson& shared) {
  Setting out{init, inputs};
  out.init.update(shared);
  out.inputs.update(shared);
  return out;
}

/// All combinations of `KIND_init_configs`, `KIND_input_configs` and `KIND_shared_configs`.
Result<std::vector<Setting>> combinations(const OrderedJson& configuration,
                                          const std::string& kind) {
  TRY(const auto inits, settings_of(configuration, kind + "_init_configs"));
  TRY(const auto given, settings_of(configuration, kind + "_input_configs"));
  TRY(const auto shared, settings_of(configuration, kind + "_shared_configs"));
  std::vector<Setting> out;
  for (const OrderedJson* a : inits) {
    for (const OrderedJson* b : given) {
      for (const OrderedJson* c : shared) out.push_back(combined(*a, *b, *c));
    }
  }
  return out;
}

/// The first setting, then those that build the same model for other inputs.
Result<std::vector<Setting>> shapes_of(const OrderedJson& configuration) {
  TRY(auto single, combinations(configuration, "single"));
  std::vector<Setting> out{std::move(single.front())};
  if (!configuration.contains("multi_input_configs")) return out;
  TRY(const auto more, combinations(configuration, "multi"));
  for (const Setting& setting : more) {
    const bool names_values = !setting.init.empty() || !setting.inputs.empty();
    const bool other = std::ranges::find(out, setting) == out.end();
    if (names_values && other && setting.init == out.front().init && out.size() < most_shapes) {
      out.push_back(setting);
    }
  }
  return out;
}

std::string function_name(size_t shape) {
  return shape == 0 ? "get_inputs" : "get_inputs_" + std::to_string(shape + 1);
}

std::string keyword_arguments(const OrderedJson& values) {
  return values.empty() ? "" : "**" + python_literal(values);
}

/// A backward task: the gradients by autograd take the place of the forward pass.
constexpr std::string_view gradient_model = R"(

_forward_pass = Model.forward


def _gradients(self, grad_output, *inputs):
    """The gradients of the inputs and parameters that the forward pass uses, from its output's."""
    with torch.enable_grad():
        inputs = [x.detach().requires_grad_(x.is_floating_point()) for x in inputs]
        wanted = [t for t in (*inputs, *self.parameters()) if t.requires_grad]
        output = _forward_pass(self, *inputs)
        found = torch.autograd.grad(output, wanted, grad_output, allow_unused=True)
    return [gradient for gradient in found if gradient is not None]


Model.forward = _gradients


def _with_gradient(inputs):
    settings = (get_init_inputs() or [[], {}])[1]
    with torch.no_grad():
        output = _forward_pass(Model(**settings), *inputs)
    return [torch.randn_like(output), *(x.detach() for x in inputs)]
)";

/// The configuration may hold values that the model has no argument for.
constexpr std::string_view taken_settings = R"(
    taken = inspect.signature(Model).parameters
    return [[], {name: settings[name] for name in settings if name in taken or "kwargs" in taken}]
)";

std::string robust_footer(const std::vector<Setting>& shapes, bool backward) {
  const OrderedJson& init = shapes.front().init;
  const std::string call = backward ? "_with_gradient(_inputs_of(" : "_inputs_of(";
  std::string out = "\n\nimport inspect\n\n_inputs_of = get_inputs\n\n\ndef get_init_inputs():\n";
  if (init.empty()) {
    out += "    return []\n";
  } else {
    out.append("    settings = ").append(python_literal(init)).append(taken_settings);
  }
  if (backward) out += gradient_model;
  for (size_t k = 0; k < shapes.size(); ++k) {
    out += "\n\ndef " + function_name(k) + "():\n    return " + call +
           keyword_arguments(shapes[k].inputs) + (backward ? "))\n" : ")\n");
  }
  return out;
}

Result<std::string> robust_text(const fs::path& file, const std::string& text) {
  const bool backward = has_definition(text, autograd_class);
  const fs::path place = configuration_of(file);
  std::error_code error;
  if (!fs::exists(place, error)) {
    return text + robust_footer({Setting{OrderedJson::object(), OrderedJson::object()}}, backward);
  }
  TRY(const auto content, read_text_file(place, max_task_bytes));
  const auto configuration = read_json(content);
  const auto shapes =
      configuration ? shapes_of(*configuration) : tl::unexpected(configuration.error());
  if (!shapes) return fail(place.string(), shapes.error());
  return text + robust_footer(*shapes, backward);
}

// --- MultiKernelBench: input groups, each made from a line of JSON in a file next to the task

constexpr std::string_view group_footer = R"(

import io
import types


def _first_group(line):
    """The input group that `get_input_groups` makes of one line of its file."""
    names = {**globals(), "open": lambda *_, **__: io.StringIO(line)}
    return types.FunctionType(get_input_groups.__code__, names)()[0]
)";

/// The case without its extents; null where a tensor's rank matters and is unknown.
OrderedJson without_extents(OrderedJson parsed) {
  for (OrderedJson& input : parsed["inputs"]) {
    if (!input.is_object() || !input.contains("shape")) continue;
    OrderedJson& shape = input["shape"];
    if (shape.is_array()) {
      for (OrderedJson& extent : shape)
        extent = extent.is_number_integer() ? OrderedJson(0) : extent;
    }
  }
  return parsed;
}

/// Lines without spaces at their ends; empty ones are left out.
std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    if (!line.empty()) out.emplace_back(line);
  }
  return out;
}

/// The first case, then those that differ from it only in extents.
Result<std::vector<std::string>> cases_of(std::string_view content) {
  const auto lines = lines_of(content);
  if (lines.empty()) return fail(ErrorCode::parse_failed, "expected a case on each line, got none");
  std::vector<std::string> out;
  OrderedJson kind;
  for (size_t k = 0; k < lines.size(); ++k) {
    const std::string place = "line " + std::to_string(k + 1);
    auto parsed = read_json(lines[k]);
    if (!parsed) return fail(place, parsed.error());
    if (auto given = member(*parsed, "inputs", Type::array); !given) {
      return fail(place, given.error());
    }
    OrderedJson bare = without_extents(std::move(*parsed));
    if (k == 0) kind = bare;
    if (bare == kind && out.size() < most_shapes) out.push_back(lines[k]);
  }
  return out;
}

Result<std::string> grouped_text(const fs::path& file, std::string text) {
  fs::path place = file;
  place.replace_extension(".json");
  TRY(const auto content, read_text_file(place, max_task_bytes));
  const auto cases = cases_of(content);
  if (!cases) return fail(place.string(), cases.error());
  text += group_footer;
  for (size_t k = 0; k < cases->size(); ++k) {
    text += "\n\ndef " + function_name(k) + "():\n    return _first_group(" +
            python_quoted((*cases)[k]) + ")\n";
  }
  return text;
}

// --- all formats

constexpr const char* known_formats =
    "the formats are KernelBench (class Model, def get_inputs, def get_init_inputs), robust-kbench "
    "(class Model, def forward_fn, def get_inputs), MultiKernelBench (class Model, def "
    "get_input_groups, def get_init_inputs) and flashinfer-bench (definitions/**/*.json): see "
    "docs/suites.md";

tl::unexpected<Error> unknown_format(const std::string& text) {
  for (const Needed& part : {model_class, inputs_function, init_function}) {
    if (has_definition(text, part)) continue;
    return fail(ErrorCode::parse_failed, "a task needs `" + std::string{part.keyword} + ' ' +
                                             std::string{part.name} + "` at its top level, found " +
                                             definitions_in(text) + "; " + known_formats);
  }
  return fail(ErrorCode::parse_failed, known_formats);
}

Result<TaskText> python_task(const fs::path& file, std::string text) {
  const auto has = [&](const Needed& part) { return has_definition(text, part); };
  if (!has(model_class)) return unknown_format(text);
  if (has(inputs_function) && has(init_function)) return TaskText{"KernelBench", std::move(text)};
  if (!text.ends_with('\n')) text += '\n';
  if (has(inputs_function) && has(forward_function)) {
    TRY(auto rewritten, robust_text(file, text));
    return TaskText{"robust-kbench", std::move(rewritten)};
  }
  if (has(groups_function) && has(init_function)) {
    TRY(auto rewritten, grouped_text(file, std::move(text)));
    return TaskText{"MultiKernelBench", std::move(rewritten)};
  }
  return unknown_format(text);
}

/// FILE.json#NUMBER, unless a file has that name itself.
std::optional<std::pair<fs::path, size_t>> numbered(const fs::path& place) {
  const std::string name = place.string();
  const size_t mark = name.rfind(".json#");
  std::error_code error;
  if (mark == std::string::npos || fs::exists(place, error)) return std::nullopt;
  const std::string number = name.substr(mark + 6);
  const bool digits = number.find_first_not_of("0123456789") == std::string::npos;
  if (number.empty() || number.size() > 6 || !digits) return std::nullopt;
  return std::pair{fs::path{name.substr(0, mark + 5)}, size_t{std::stoul(number)}};
}

/// robust-kbench keeps the task that a task was made from in the same folder.
bool is_origin(const fs::path& file) {
  if (file.stem().string().starts_with("func_")) return false;
  const fs::path task = file.parent_path() / robust_task;
  std::error_code error;
  return fs::exists(task, error) && fs::exists(configuration_of(task), error);
}

}  // namespace

Result<TaskText> read_task_text(const fs::path& place) {
  const auto workload = numbered(place);
  const fs::path file = file_of(place);
  std::error_code error;
  if (fs::is_directory(file, error)) {
    return fail(ErrorCode::invalid_argument,
                file.string() + ": expected a task file, got a folder");
  }
  TRY(auto text, read_text_file(file, max_task_bytes));
  if (text.starts_with(byte_order_mark)) text.erase(0, byte_order_mark.size());
  auto task = file.extension() == ".json"
                  ? flashinfer_task(file, text, workload ? workload->second : 0)
                  : python_task(file, std::move(text));
  if (!task) return fail(place.string(), std::move(task.error()));
  if (task->text.size() <= max_task_bytes) return task;
  return fail(ErrorCode::parse_failed,
              place.string() + ": its text in KernelBench's form has more than 1 MiB");
}

fs::path file_of(const fs::path& place) {
  const auto workload = numbered(place);
  return workload ? workload->first : place;
}

fs::path named_path(const fs::path& place) {
  const fs::path file = file_of(place);
  const std::string stem = file.stem().string();
  const bool backward = file.filename() == robust_backward;
  if (stem == "reference" || file.filename() == robust_task || backward) {
    fs::path folder = fs::absolute(file).lexically_normal().parent_path();
    return backward ? folder += "-backward" : folder;
  }
  const auto workload = numbered(place);
  return file.parent_path() / (workload ? stem + '-' + std::to_string(workload->second) : stem);
}

std::vector<fs::path> places_in(const fs::path& file) {
  if (file.extension() == ".py")
    return is_origin(file) ? std::vector<fs::path>{} : std::vector{file};
  return is_definition(file) ? workloads_of(file) : std::vector<fs::path>{};
}

}  // namespace warpsmith::synthesis
