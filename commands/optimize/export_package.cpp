// SPDX-License-Identifier: Apache-2.0
#include "commands/optimize/export_package.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>

#include "runtime/bytes.hpp"
#include "runtime/json_text.hpp"

namespace warpsmith::commands {
namespace {

using nlohmann::json;

/// Element types as torch names them.
struct TypeNames {
  std::string_view python, cpp;  // torch.NAME and at::ScalarType::NAME
};

constexpr TypeNames type_names(Dtype type) {
  switch (type) {
    case Dtype::f32:
      return {"float32", "Float"};
    case Dtype::f64:
      return {"float64", "Double"};
    case Dtype::f16:
      return {"float16", "Half"};
    case Dtype::bf16:
      return {"bfloat16", "BFloat16"};
    case Dtype::i64:
      return {"int64", "Long"};
    case Dtype::i32:
      return {"int32", "Int"};
    case Dtype::i16:
      return {"int16", "Short"};
    case Dtype::i8:
      return {"int8", "Char"};
    case Dtype::u8:
      return {"uint8", "Byte"};
    case Dtype::boolean:
      return {"bool", "Bool"};
  }
  return {"float32", "Float"};
}

/// What differs between the forms, besides the templates of their folders.
struct FormTexts {
  std::string folder;
  const char* load;  // in __init__.py: registers the ops
  const char* room;  // in op.cpp: makes output i
};

FormTexts form_texts(ExportForm form) {
  const char* const load = "from . import build\n\ntorch.ops.load_library(str(build.library()))\n";
  if (form == ExportForm::library) {
    return {"library/", load, "placed(shape.out[i], out_types[i], like)"};
  }
  if (form == ExportForm::plan) {
    return {"plan/", load, "at::empty(shape.out[i], like.options().dtype(out_types[i]))"};
  }
  return {"module/", "from . import op  # defines the ops\n", ""};
}

// --- the custom op: C++ around a library or a plan, Python around a module

/// PART(0), PART(1), … separated by commas.
std::string comma_list(size_t count, const std::function<std::string(size_t)>& part) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += (i == 0 ? "" : ", ") + part(i);
  return out;
}

std::vector<TensorSpec> tensors_of(const TaskSignature& signature, bool outputs) {
  std::vector<TensorSpec> out;
  for (const TensorSpec& t : signature.tensors) {
    if ((t.role == TensorRole::output) == outputs) out.push_back(t);
  }
  return out;
}

struct Counts {
  size_t in = 0, out = 0;
};

Counts counts_of(const ExportedKernel& kernel) {
  const TaskSignature& first = kernel.shapes.front().signature;
  return {tensors_of(first, false).size(), tensors_of(first, true).size()};
}

std::string extents_text(const std::vector<int64_t>& extents) {
  return "Extents{" +
         comma_list(extents.size(), [&](size_t i) { return std::to_string(extents[i]); }) + '}';
}

/// The third argument of `solve` in contract cpu.
std::vector<int64_t> dims_of(const TaskSignature& signature) {
  std::vector<int64_t> dims;
  for (const TensorSpec& tensor : signature.tensors) {
    dims.insert(dims.end(), tensor.shape.begin(), tensor.shape.end());
  }
  return dims;
}

std::string shapes_of(const std::vector<TensorSpec>& tensors) {
  return '{' +
         comma_list(tensors.size(), [&](size_t i) { return extents_text(tensors[i].shape); }) + '}';
}

std::string types_text(const std::vector<TensorSpec>& tensors) {
  return comma_list(tensors.size(), [&](size_t i) {
    return "at::ScalarType::" + std::string(type_names(tensors[i].dtype).cpp);
  });
}

std::string shapes_text(const std::vector<ExportedShape>& shapes) {
  std::string out;
  for (const ExportedShape& shape : shapes) {
    out += "    {" + shapes_of(tensors_of(shape.signature, false)) + ",\n     " +
           shapes_of(tensors_of(shape.signature, true)) + ",\n     " +
           extents_text(dims_of(shape.signature)) + "},\n";
  }
  return out;
}

/// "PREFIX0, PREFIX1"
std::string numbered(std::string_view prefix, size_t count) {
  return comma_list(count, [&](size_t i) { return std::string(prefix) + std::to_string(i); });
}

std::string solve_schema(Counts n) {
  const auto tensor = [](size_t) { return std::string("Tensor"); };
  const std::string results = n.out == 1 ? "Tensor" : '(' + comma_list(n.out, tensor) + ')';
  return "solve(" + numbered("Tensor a", n.in) + ") -> " + results;
}

std::string solve_out_schema(Counts n) {
  const auto written = [](size_t i) { return fmt::format("Tensor(y{}!) y{}", i, i); };
  return "solve_out(" + numbered("Tensor a", n.in) + ", " + comma_list(n.out, written) + ") -> ()";
}

/// csrc/op.cpp of the forms `library` and `plan`. Torch wants functions of as many tensors as the
/// schemas have.
std::string operator_source(const ExportedKernel& kernel, Placeholders values) {
  const TaskSignature& first = kernel.shapes.front().signature;
  const auto in = tensors_of(first, false), out = tensors_of(first, true);
  const auto new_outputs = [&](const std::string& before) {
    return comma_list(out.size(), [&](size_t i) { return fmt::format("{}out[{}]", before, i); });
  };
  const auto tensor = [](size_t) { return std::string("Tensor"); };
  const bool one = out.size() == 1;
  const FormTexts form = form_texts(kernel.form);
  values.insert({{"ROOM", form.room},
                 {"IN_COUNT", std::to_string(in.size())},
                 {"OUT_COUNT", std::to_string(out.size())},
                 {"IN_TYPES", types_text(in)},
                 {"OUT_TYPES", types_text(out)},
                 {"SHAPES", shapes_text(kernel.shapes)},
                 {"INPUTS", numbered("const Tensor& a", in.size())},
                 {"OUTPUTS", numbered("const Tensor& y", out.size())},
                 {"INPUT_ADDRESSES", numbered("&a", in.size())},
                 {"OUTPUT_ADDRESSES", numbered("&y", out.size())},
                 {"RESULT", one ? "Tensor" : "std::tuple<" + comma_list(out.size(), tensor) + ">"},
                 {"NEW_ADDRESSES", new_outputs("&")},
                 {"NEW", one ? "out[0]" : '{' + new_outputs("") + '}'},
                 {"DEVICE", kernel.form == ExportForm::plan ? "CUDA" : "CPU"}});
  if (kernel.form == ExportForm::plan) add_plan_values(kernel.plans, values);
  values["INCLUDES"] = filled_template(form.folder + "includes.cpp", values);
  values["CALL"] = filled_template(form.folder + "call.cpp", values);
  return filled_template("op.cpp", values);
}

// --- the package

constexpr size_t most_name_bytes = 64;

/// Python's keywords, the modules that the export imports, and namespaces of torch's own ops.
constexpr std::string_view taken_names[] = {
    "False",    "None",       "True",       "and",      "as",         "assert",    "async",
    "await",    "break",      "class",      "continue", "def",        "del",       "elif",
    "else",     "except",     "finally",    "for",      "from",       "global",    "if",
    "import",   "in",         "is",         "lambda",   "nonlocal",   "not",       "or",
    "pass",     "raise",      "return",     "try",      "while",      "with",      "yield",
    "argparse", "concurrent", "contextlib", "ctypes",   "hashlib",    "importlib", "json",
    "os",       "pathlib",    "platform",   "re",       "statistics", "struct",    "subprocess",
    "sys",      "sysconfig",  "tempfile",   "time",     "warnings",   "torch",     "aten",
    "prim",     "prims",      "quantized"};

std::string flags_text(const ExportedKernel& kernel) {
  const sandbox::LibraryBuild& build = kernel.build;
  const bool kernels = kernel.form != ExportForm::plan ||
                       std::ranges::any_of(kernel.plans, sandbox::has_step<sandbox::BoundLaunch>);
  return json_text(json{{"compile", build.compile_flags},
                        {"link", build.link_flags},
                        {"second", build.second_flags},
                        {"host", build.host_flags},
                        {"cuda", build.cuda_flags},
                        {"kernels", kernels}},
                   1) +
         '\n';
}

json tensors_json(const TaskSignature& signature) {
  json out = json::array();
  for (const TensorSpec& t : signature.tensors) {
    out.push_back(
        {{"name", t.name}, {"role", to_string(t.role)}, {"dtype", type_names(t.dtype).python}});
  }
  return out;
}

json shape_json(const ExportedShape& shape) {
  json extents = json::array();
  for (const TensorSpec& t : shape.signature.tensors) extents.push_back(t.shape);
  return {{"function", shape.function},
          {"extents", extents},
          {"dims", dims_of(shape.signature)},
          {"judged_ms", shape.judged_ms}};
}

std::string signature_text(const ExportedKernel& kernel) {
  json shapes = json::array();
  for (const ExportedShape& shape : kernel.shapes) shapes.push_back(shape_json(shape));
  const bool tf32 = kernel.task.lane == PrecisionLane::tf32_allowed;
  const bool on_gpu = kernel.task.device == DeviceClass::cuda;
  return json_text(json{{"tensors", tensors_json(kernel.shapes.front().signature)},
                        {"shapes", shapes},
                        {"device", on_gpu ? "cuda" : "cpu"},
                        {"lane", tf32 ? "tf32-allowed" : "fp32-strict"}},
                   1) +
         '\n';
}

std::string name_of(const ExportedKernel& kernel) {
  return kernel.name.empty() ? default_package_name(kernel.task, kernel.files) : kernel.name;
}

/// The files around the kernel.
FileSet files_around(const ExportedKernel& kernel) {
  const std::string package = name_of(kernel), inside = package + '/';
  const FormTexts form = form_texts(kernel.form);
  const Counts n = counts_of(kernel);
  Placeholders values{{"PACKAGE", package},
                      {"LOAD", form.load},
                      {"SOLVE", solve_schema(n)},
                      {"SOLVE_OUT", solve_out_schema(n)}};
  values["ARCHITECTURE"] = filled_template("architecture.py", values);
  values["BUILD"] = filled_template(form.folder + "build.py", values);
  values["TIMING"] = filled_template(form.folder + "timing.py", values);
  values["NEEDS"] = filled_template(form.folder + "needs.md", values);
  FileSet files;
  for (const char* name : {"__init__.py", "build.py", "models.py"}) {
    files[inside + name] = filled_template(name, values);
  }
  for (const char* name : {"test_regression.py", "pyproject.toml", "README.md"}) {
    files[name] = filled_template(name, values);
  }
  if (kernel.form == ExportForm::module) {
    files[inside + "op.py"] = filled_template("module/op.py", values);
  } else {
    files[inside + "csrc/op.cpp"] = operator_source(kernel, std::move(values));
  }
  return files;
}

/// What the build adds to the submission's own files.
FileSet provided_files(const ExportedKernel& kernel) {
  FileSet files;
  if (kernel.form != ExportForm::module) {
    for (const auto& [name, text] : kernel.build.headers) files["headers/" + name] = text;
    return files;
  }
  const bool compiled = std::ranges::any_of(
      kernel.files, [](const auto& file) { return file.first.starts_with("kernels/"); });
  if (compiled) files = kernel.build.headers;
  for (const char* name : {"model.py", "reference.py"}) files[name] = kernel.task.code;
  return files;
}

}  // namespace

std::string default_package_name(const Task& task, const FileSet& kernel) {
  std::string name = "warpsmith_";
  for (const char c : task.id) {
    const auto byte = static_cast<unsigned char>(c);
    name += byte < 128 && std::isalnum(byte) != 0 ? c : '_';
  }
  constexpr size_t digits = 8;
  return name + '_' + sha256_hex(task.code + source_hash(kernel)).substr(0, digits);
}

Result<void> check_package_name(const std::string& name) {
  const auto allowed = [](char c) {
    return c == '_' || (static_cast<unsigned char>(c) < 128 && std::isalnum(c) != 0);
  };
  const bool taken = std::ranges::find(taken_names, name) != std::end(taken_names);
  if (taken) {
    return fail(ErrorCode::invalid_argument,
                "--name " + name + ": Python or torch uses this name; expected one of your own");
  }
  const bool fits = !name.empty() && name.size() <= most_name_bytes &&
                    std::ranges::all_of(name, allowed) && std::isdigit(name.front()) == 0;
  if (fits) return {};
  return fail(ErrorCode::invalid_argument,
              fmt::format("--name {}: expected up to {} letters, digits and underscores, with no "
                          "digit in front",
                          name, most_name_bytes));
}

FileSet export_package(const ExportedKernel& kernel) {
  const std::string inside = name_of(kernel) + '/', sources = inside + "csrc/";
  FileSet files = files_around(kernel);
  for (const auto& [name, content] : kernel.files) files[sources + name] = content;
  for (const auto& [name, content] : provided_files(kernel)) files[sources + name] = content;
  files[inside + "flags.json"] = flags_text(kernel);
  files[inside + "signature.json"] = signature_text(kernel);
  files[inside + "reference.py"] = kernel.task.code;
  return files;
}

}  // namespace warpsmith::commands
