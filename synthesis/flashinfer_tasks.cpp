// SPDX-License-Identifier: Apache-2.0
#include "synthesis/flashinfer_tasks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "runtime/run/durable_file.hpp"
#include "synthesis/python_text.hpp"

namespace warpsmith::synthesis {
namespace {

namespace fs = std::filesystem;
using Type = JsonType;

constexpr size_t most_workload_bytes = 8U << 20U;  // of one definition
constexpr uint64_t most_extent = uint64_t{1} << 40U;

/// How flashinfer-bench draws values of a type; {} is the shape.
struct Drawing {
  std::string_view dtype, call;
};
constexpr std::array<Drawing, 8> drawings{{
    {"float32", "torch.randn({}, dtype=torch.float32)"},
    {"float16", "torch.randn({}, dtype=torch.float16)"},
    {"bfloat16", "torch.randn({}, dtype=torch.bfloat16)"},
    {"int64", "torch.randint(-1024, 1024, {}, dtype=torch.int64)"},
    {"int32", "torch.randint(-1024, 1024, {}, dtype=torch.int32)"},
    {"int16", "torch.randint(-1024, 1024, {}, dtype=torch.int16)"},
    {"int8", "torch.randint(-128, 128, {}, dtype=torch.int8)"},
    {"bool", "torch.randint(0, 2, {}, dtype=torch.bool)"},
}};

tl::unexpected<Error> malformed(const std::string& what) {
  return fail(ErrorCode::parse_failed, what);
}

// --- definitions

struct Input {
  std::string name;
  std::optional<std::vector<std::string>> shape;  // names of axes; none: a number
  const Drawing* drawing = nullptr;
};

struct Definition {
  std::string name, description, kind, reference;
  std::map<std::string, std::optional<uint64_t>> axes;  // without a value: of each workload
  std::vector<Input> inputs;
  std::vector<std::string> outputs;
};

std::string optional_text(const OrderedJson& object, const std::string& key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

Result<uint64_t> extent(const OrderedJson& value) {
  if (value.is_number_unsigned()) {
    const auto got = value.get<uint64_t>();
    if (got >= 1 && got <= most_extent) return got;
  }
  return malformed("expected a whole number from 1 to 2^40, got " + shown(value));
}

Result<std::optional<uint64_t>> axis_of(const OrderedJson& axis) {
  TRY(const OrderedJson* type, member(axis, "type", Type::string));
  if (*type == "var") return std::nullopt;
  if (*type != "const") return malformed(R"(type: expected "const" or "var", got )" + shown(*type));
  const auto value = axis.find("value");
  const auto got = extent(value == axis.end() ? OrderedJson() : *value);
  if (!got) return fail("value", got.error());
  return *got;
}

Result<const Drawing*> drawing_of(const OrderedJson& tensor) {
  TRY(const OrderedJson* dtype, member(tensor, "dtype", Type::string));
  const auto found = std::ranges::find(drawings, dtype->get<std::string>(), &Drawing::dtype);
  if (found != drawings.end()) return &*found;
  return fail(
      ErrorCode::unsupported,
      "dtype: expected float32, float16, bfloat16, int64, int32, int16, int8 or bool, got " +
          shown(*dtype) + "; other types are not supported");
}

Result<std::vector<std::string>> axes_of(const OrderedJson& shape, const Definition& definition) {
  if (!shape.is_array()) return malformed("shape: expected a list of axes, got " + shown(shape));
  std::vector<std::string> out;
  for (const OrderedJson& axis : shape) {
    if (!axis.is_string() || !definition.axes.contains(axis.get<std::string>())) {
      return malformed("shape: expected names of axes, got " + shown(axis));
    }
    out.push_back(axis.get<std::string>());
  }
  return out;
}

Result<Input> tensor_of(const std::string& name, const OrderedJson& tensor,
                        const Definition& definition) {
  TRY(const Drawing* drawing, drawing_of(tensor));
  const auto shape = tensor.find("shape");
  if (shape == tensor.end()) return malformed("shape: expected a list of axes, got no such member");
  if (shape->is_null()) return Input{name, std::nullopt, drawing};
  TRY(auto axes, axes_of(*shape, definition));
  return Input{name, std::move(axes), drawing};
}

Result<std::vector<Input>> tensors_of(const OrderedJson& object, const std::string& key,
                                      const Definition& definition) {
  TRY(const OrderedJson* tensors, member(object, key, Type::object));
  std::vector<Input> out;
  for (const auto& [name, tensor] : tensors->items()) {
    auto one = tensor_of(name, tensor, definition);
    if (!one) return fail(fmt::format("{}.{}", key, name), std::move(one.error()));
    out.push_back(std::move(*one));
  }
  return out;
}

Result<void> read_axes(const OrderedJson& object, Definition& definition) {
  TRY(const OrderedJson* axes, member(object, "axes", Type::object));
  for (const auto& [name, axis] : axes->items()) {
    auto value = axis_of(axis);
    if (!value) return fail("axes." + name, std::move(value.error()));
    definition.axes.emplace(name, *value);
  }
  return {};
}

Result<void> read_tensors(const OrderedJson& object, Definition& definition) {
  TRY(auto inputs, tensors_of(object, "inputs", definition));
  for (const Input& input : inputs) {
    if (is_python_name(input.name) && input.name != "self") continue;
    return malformed("inputs: expected names of arguments in Python, got " + shown(input.name));
  }
  TRY(const auto outputs, tensors_of(object, "outputs", definition));
  definition.inputs = std::move(inputs);
  for (const Input& output : outputs) definition.outputs.push_back(output.name);
  return {};
}

Result<Definition> definition_of(const std::string& text) {
  TRY(const OrderedJson object, read_json(text));
  TRY(const OrderedJson* name, member(object, "name", Type::string));
  TRY(const OrderedJson* reference, member(object, "reference", Type::string));
  Definition out;
  out.name = name->get<std::string>();
  out.reference = reference->get<std::string>();
  out.description = optional_text(object, "description");
  out.kind = optional_text(object, "op_type");
  TRY_VOID(read_axes(object, out));
  TRY_VOID(read_tensors(object, out));
  if (has_definition(out.reference, {"def", "run"})) return out;
  return malformed("reference: expected `def run` at its top level, found " +
                   definitions_in(out.reference));
}

// --- workloads

struct Workload {
  size_t number = 0;   // of the line, from 1
  std::string inputs;  // what get_inputs returns, as Python writes it
};

/// The workloads that can be read, and why the first other one cannot be.
struct Workloads {
  std::vector<Workload> all;
  std::string lack;
};

using Extents = std::map<std::string, uint64_t>;

Result<Extents> extents_of(const OrderedJson& workload, const Definition& definition) {
  TRY(const OrderedJson* axes, member(workload, "axes", Type::object));
  Extents out;
  for (const auto& [name, fixed] : definition.axes) {
    const auto found = axes->find(name);
    if (!fixed && found == axes->end()) {
      return malformed("axes: expected a value of " + name + ", got " + shown(*axes));
    }
    if (!fixed && *found == 0) return fail(ErrorCode::unsupported, "axes." + name + ": no element");
    const auto value = fixed ? Result<uint64_t>{*fixed} : extent(*found);
    if (!value) return fail("axes." + name, value.error());
    out.emplace(name, *value);
  }
  return out;
}

/// The shape as Python writes it. `parse_failed` beyond any memory.
Result<std::string> shape_text(const Input& input, const Extents& extents) {
  uint64_t elements = 1;
  std::string out = "(";
  for (const std::string& axis : *input.shape) {
    const uint64_t size = extents.at(axis);
    if (elements > most_extent / size) return malformed("more than 2^40 elements");
    elements *= size;
    out += std::to_string(size) + ", ";
  }
  if (input.shape->size() > 1) out.resize(out.size() - 2);
  return out + ')';
}

Result<std::string> drawn(const Input& input, const Extents& extents, const std::string& kind) {
  if (!input.shape) {
    return fail(ErrorCode::unsupported, "a number that is drawn anew each time; expected a scalar");
  }
  TRY(const auto shape, shape_text(input, extents));
  std::string call{input.drawing->call};
  call.replace(call.find("{}"), 2, shape);
  return kind == "sampling" && input.name == "probs" ? "torch.softmax(" + call + ", dim=-1)" : call;
}

/// One input, as flashinfer-bench makes it; drawn if the workload does not name it.
Result<std::string> input_text(const Input& input, const OrderedJson& given, const Extents& extents,
                               const std::string& kind) {
  const auto source = given.find(input.name);
  if (source == given.end()) return drawn(input, extents, kind);
  TRY(const OrderedJson* type, member(*source, "type", Type::string));
  if (*type == "random") return drawn(input, extents, kind);
  if (*type == "safetensors") return fail(ErrorCode::unsupported, "tensors of safetensors files");
  if (*type != "scalar") {
    return malformed(R"(type: expected "random", "scalar" or "safetensors", got )" + shown(*type));
  }
  const auto value = source->find("value");
  if (value != source->end() && (value->is_number() || value->is_boolean())) {
    return python_literal(*value);
  }
  return malformed("value: expected a number, true or false, got " +
                   (value == source->end() ? "no such member" : shown(*value)));
}

Result<std::string> inputs_text(const OrderedJson& workload, const Definition& definition) {
  TRY(const Extents extents, extents_of(workload, definition));
  TRY(const OrderedJson* given, member(workload, "inputs", Type::object));
  std::string out;
  for (const Input& input : definition.inputs) {
    auto text = input_text(input, *given, extents, definition.kind);
    if (!text) return fail("inputs." + input.name, std::move(text.error()));
    out += (out.empty() ? "" : ", ") + *text;
  }
  return '[' + out + ']';
}

/// Adds the workload of a line unless it belongs to another definition or repeats an earlier one.
Result<void> add_workload(Workloads& workloads, size_t number, const OrderedJson& line,
                          const Definition& definition) {
  if (!line.is_object()) return malformed("expected an object, got " + shown(line));
  if (const auto name = line.find("definition"); name != line.end() && *name != definition.name) {
    return {};
  }
  const auto inner = line.find("workload");
  auto inputs = inputs_text(inner == line.end() ? line : *inner, definition);
  if (inputs) {
    const bool fresh =
        std::ranges::find(workloads.all, *inputs, &Workload::inputs) == workloads.all.end();
    if (fresh) workloads.all.push_back({number, std::move(*inputs)});
    return {};
  }
  if (inputs.error().code != ErrorCode::unsupported) return tl::unexpected(inputs.error());
  if (workloads.lack.empty()) workloads.lack = inputs.error().message;
  return {};
}

/// definitions/KIND/NAME.json: workloads/KIND/NAME.jsonl in the same folder as `definitions`.
std::optional<fs::path> workload_file(const fs::path& definition) {
  fs::path root, inside;
  bool found = false;
  for (const fs::path& part : fs::absolute(definition).lexically_normal()) {
    if (part == "definitions") {
      root = found ? root / "definitions" / inside : inside;
      inside.clear();
      found = true;
    } else {
      inside /= part;
    }
  }
  if (!found) return std::nullopt;
  return (root / "workloads" / inside).replace_extension(".jsonl");
}

Result<Workloads> read_workloads(const fs::path& file, const Definition& definition) {
  std::error_code error;
  if (!fs::exists(file, error)) {
    return fail(ErrorCode::not_found,
                file.string() + ": no such file; expected the definition's workloads, one a line");
  }
  TRY(const auto content, read_text_file(file, most_workload_bytes));
  Workloads out;
  size_t number = 0;
  for (size_t at = 0; at < content.size();) {
    const size_t end = std::min(content.find('\n', at), content.size());
    const std::string_view line = std::string_view{content}.substr(at, end - at);
    at = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const auto parsed = read_json(line);
    const auto added = parsed ? add_workload(out, number, *parsed, definition)
                              : Result<void>{tl::unexpected(parsed.error())};
    if (!added) return fail(file.string() + ": line " + std::to_string(number), added.error());
  }
  if (!out.all.empty()) return out;
  if (out.lack.empty()) return malformed(file.string() + ": no workload of " + definition.name);
  return fail(ErrorCode::unsupported,
              file.string() + ": none of its workloads is supported; the first one: " + out.lack);
}

Result<Workloads> workloads_for(const fs::path& file, const Definition& definition) {
  const auto place = workload_file(file);
  if (place) return read_workloads(*place, definition);
  return fail(ErrorCode::not_found,
              "expected the definition beneath a folder `definitions`, with its workloads in a "
              "folder `workloads` next to that");
}

// --- the task's text

/// Text of others as a comment: without line ends and the like.
std::string one_line(std::string text) {
  std::ranges::replace_if(text, [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  return text;
}

std::string model_text(const Definition& definition) {
  std::string arguments;
  for (const Input& input : definition.inputs) {
    arguments += (arguments.empty() ? "" : ", ") + input.name;
  }
  const OrderedJson outputs(definition.outputs);
  return "\n\nimport torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, " + arguments +
         "):\n        outputs = run(" + arguments + ")\n        if isinstance(outputs, dict):\n" +
         "            return [outputs[name] for name in " + python_literal(outputs) +
         "]\n        return outputs\n\n\ndef get_init_inputs():\n    return []\n";
}

std::string task_text(const Definition& definition, const std::vector<Workload>& workloads) {
  std::string out = "# " + one_line(definition.name + ": " + definition.description) + '\n' +
                    definition.reference + model_text(definition);
  for (const Workload& workload : workloads) {
    const bool first = &workload == &workloads.front();
    out += "\n\ndef get_inputs" + (first ? "" : '_' + std::to_string(workload.number)) +
           "():\n    return " + workload.inputs + '\n';
  }
  return out;
}

/// The workload of that number, or the first ones.
Result<std::vector<Workload>> chosen(std::vector<Workload> all, size_t number) {
  if (number == 0) {
    if (all.size() > most_shapes) all.resize(most_shapes);
    return all;
  }
  const auto found = std::ranges::find(all, number, &Workload::number);
  if (found != all.end()) return std::vector{*found};
  return fail(ErrorCode::not_found, "no workload " + std::to_string(number) +
                                        " that can be read; the first one is " +
                                        std::to_string(all.front().number));
}

}  // namespace

bool is_definition(const fs::path& file) {
  return file.extension() == ".json" && workload_file(file).has_value();
}

std::vector<fs::path> workloads_of(const fs::path& file) {
  const auto read = [&]() -> Result<Workloads> {
    TRY(const auto text, read_text_file(file, max_task_bytes));
    TRY(const auto definition, definition_of(text));
    return workloads_for(file, definition);
  };
  const auto workloads = read();
  if (!workloads) return {file};
  std::vector<fs::path> out;
  for (const Workload& workload : workloads->all) {
    if (out.size() == most_shapes) break;
    out.emplace_back(file.string() + '#' + std::to_string(workload.number));
  }
  return out;
}

Result<TaskText> flashinfer_task(const fs::path& file, const std::string& text, size_t number) {
  TRY(const auto definition, definition_of(text));
  TRY(auto workloads, workloads_for(file, definition));
  TRY(const auto used, chosen(std::move(workloads.all), number));
  return TaskText{"flashinfer-bench", task_text(definition, used)};
}

}  // namespace warpsmith::synthesis
