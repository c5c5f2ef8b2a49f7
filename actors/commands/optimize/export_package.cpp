// SPDX-License-Identifier: Apache-2.0
#include "actors/commands/optimize/export_package.hpp"

#include <algorithm>
#include <cctype>
#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>

#include "actors/commands/optimize/export_steps.hpp"
#include "actors/commands/optimize/export_templates.hpp"
#include "runtime/json_text.hpp"

namespace warpsmith::actors {
namespace {

using nlohmann::json;

struct TypeNames {
  std::string_view python, cpp;  // torch.NAME and at::ScalarType::NAME
};

TypeNames type_names(Dtype type) {
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

std::string_view role_name(TensorRole role) {
  if (role == TensorRole::input) return "input";
  return role == TensorRole::parameter ? "parameter" : "output";
}

std::string replaced(std::string text, std::string_view mark, std::string_view by) {
  for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + by.size())) {
    text.replace(at, mark.size(), by);
  }
  return text;
}

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

std::string extents_text(const std::vector<int64_t>& extents) {
  return "Extents{" +
         comma_list(extents.size(), [&](size_t i) { return std::to_string(extents[i]); }) + '}';
}

std::string all_extents(const std::vector<TensorSpec>& tensors) {
  return '{' +
         comma_list(tensors.size(), [&](size_t i) { return extents_text(tensors[i].shape); }) + '}';
}

std::string types_text(const std::string& name, const std::vector<TensorSpec>& tensors) {
  const auto type = [&](size_t i) {
    return "at::ScalarType::" + std::string(type_names(tensors[i].dtype).cpp);
  };
  return "constexpr std::array<at::ScalarType, " + std::to_string(tensors.size()) + "> " + name +
         "{" + comma_list(tensors.size(), type) + "};\n";
}

/// The sizes and types that the op accepts.
std::string operator_tables(const ExportedKernel& kernel) {
  const TaskSignature& first = kernel.shapes.front().signature;
  const auto in = tensors_of(first, false), out = tensors_of(first, true);
  std::string text = "constexpr size_t in_count = " + std::to_string(in.size()) +
                     ", out_count = " + std::to_string(out.size()) + ";\n" +
                     types_text("in_types", in) + types_text("out_types", out) +
                     "const std::vector<Shape> shapes{\n";
  for (const ExportedShape& shape : kernel.shapes) {
    text += "    {" + all_extents(tensors_of(shape.signature, false)) + ",\n     " +
            all_extents(tensors_of(shape.signature, true)) + ",\n     " +
            extents_text(shape.signature.dims) + "},\n";
  }
  return text + "};\n";
}

std::string numbered(const char* prefix, size_t i) {
  return prefix + std::to_string(i);
}

/// The two entries of the op: torch wants a function of as many tensors as the schema has.
std::string operator_entries(size_t in, size_t out, const std::string& package,
                             const std::string& device) {
  const auto list = [](const char* text, size_t n) {
    return comma_list(n, [text](size_t i) { return numbered(text, i); });
  };
  const std::string arguments = list("const Tensor& a", in), inputs = list("&a", in);
  const std::string results = list("const Tensor& y", out), outputs = list("&y", out);
  const std::string tuple =
      "std::tuple<" + comma_list(out, [](size_t) { return std::string("Tensor"); }) + ">";
  const std::string made_pointers =
      comma_list(out, [](size_t i) { return "&out[" + std::to_string(i) + "]"; });
  const std::string made_values =
      comma_list(out, [](size_t i) { return "out[" + std::to_string(i) + "]"; });
  const std::string schema_in = list("Tensor a", in);
  const std::string schema_out = comma_list(
      out, [](size_t i) { return "Tensor(y" + std::to_string(i) + "!) y" + std::to_string(i); });
  const std::string schema_results =
      "(" + comma_list(out, [](size_t) { return std::string("Tensor"); }) + ")";
  return (out == 1 ? std::string("Tensor") : tuple) + " solve_new(" + arguments + ") {\n" +
         "  const std::array<const Tensor*, in_count> in{" + inputs + "};\n" +
         "  const Shape& shape = shape_of(in);\n" + "  auto out = made(shape, a0);\n" +
         "  run(in, {" + made_pointers + "}, shape);\n" + "  return " +
         (out == 1 ? std::string("out[0]") : "{" + made_values + "}") + ";\n}\n\n" +
         "void solve_given(" + arguments + ", " + results + ") {\n" +
         "  const std::array<const Tensor*, in_count> in{" + inputs + "};\n" + "  run(in, {" +
         outputs + "}, shape_of(in));\n}\n\n}  // namespace\n\n" + "TORCH_LIBRARY(" + package +
         ", library) {\n" + "  library.def(\"solve(" + schema_in + ") -> " +
         (out == 1 ? std::string("Tensor") : schema_results) + "\");\n" +
         "  library.def(\"solve_out(" + schema_in + ", " + schema_out + ") -> ()\");\n}\n\n" +
         "TORCH_LIBRARY_IMPL(" + package + ", " + device + ", library) {\n" +
         "  library.impl(\"solve\", &solve_new);\n" +
         "  library.impl(\"solve_out\", &solve_given);\n}\n";
}

bool on_device(const ExportedKernel& kernel) {
  return !kernel.plans.empty();
}

const ExportTexts& texts_of(const ExportedKernel& kernel) {
  return on_device(kernel) ? device_export_texts() : cpu_export_texts();
}

/// What runs the kernel: `call`.
std::string call_source(const ExportedKernel& kernel) {
  std::string out = texts_of(kernel).call;
  if (std::ranges::any_of(kernel.plans, multiplies)) out += export_device_products;
  return on_device(kernel) ? out + steps_source(kernel.plans) : out;
}

std::string operator_source(const ExportedKernel& kernel) {
  const TaskSignature& first = kernel.shapes.front().signature;
  std::string includes = texts_of(kernel).includes;
  if (std::ranges::any_of(kernel.plans, multiplies)) {
    includes += "#include <ATen/cuda/CUDAContext.h>\n#include <cublasLt.h>\n\n";
  }
  return includes + export_operator_head + operator_tables(kernel) + call_source(kernel) +
         export_operator_tail +
         operator_entries(tensors_of(first, false).size(), tensors_of(first, true).size(),
                          package_name(kernel.task), on_device(kernel) ? "CUDA" : "CPU");
}

std::string flags_text(const ExportedKernel& kernel) {
  const bool kernels = !on_device(kernel) || std::ranges::any_of(kernel.plans, launches_kernel);
  return json_text(json{{"compile", kernel.build.compile_flags},
                        {"link", kernel.build.link_flags},
                        {"second", kernel.build.second_flags},
                        {"kernels", kernels}},
                   1) +
         '\n';
}

std::string signature_text(const ExportedKernel& kernel) {
  json tensors = json::array(), shapes = json::array();
  for (const TensorSpec& t : kernel.shapes.front().signature.tensors) {
    tensors.push_back(
        {{"name", t.name}, {"role", role_name(t.role)}, {"dtype", type_names(t.dtype).python}});
  }
  for (const ExportedShape& shape : kernel.shapes) {
    json extents = json::array();
    for (const TensorSpec& t : shape.signature.tensors) extents.push_back(t.shape);
    shapes.push_back({{"function", shape.function},
                      {"extents", extents},
                      {"dims", shape.signature.dims},
                      {"judged_ms", shape.judged_ms}});
  }
  const bool tf32 = kernel.task.lane == PrecisionLane::tf32_allowed;
  return json_text(json{{"tensors", tensors},
                        {"shapes", shapes},
                        {"device", on_device(kernel) ? "cuda" : "cpu"},
                        {"lane", tf32 ? "tf32-allowed" : "fp32-strict"}},
                   1) +
         '\n';
}

}  // namespace

std::string package_name(const Task& task) {
  std::string name = "warpsmith_";
  for (const char c : task.id) {
    const auto byte = static_cast<unsigned char>(c);
    name += byte < 128 && std::isalnum(byte) != 0 ? c : '_';
  }
  return name;
}

FileSet export_package(const ExportedKernel& kernel) {
  const std::string package = package_name(kernel.task);
  const std::string inside = package + '/', sources = inside + "csrc/";
  const ExportTexts& texts = texts_of(kernel);
  FileSet files;
  files[sources + "op.cpp"] = operator_source(kernel);
  files[inside + "__init__.py"] = export_init;
  files[inside + "build.py"] = export_build_head + std::string(texts.build) + export_build_tail;
  files["test_regression.py"] = export_test_head + std::string(texts.timing) + export_test_tail;
  files["pyproject.toml"] = export_pyproject;
  files["README.md"] = replaced(export_readme, "@NEEDS@", texts.needs);
  for (auto& [name, text] : files) text = replaced(std::move(text), "@PACKAGE@", package);
  for (const auto& [name, content] : kernel.files) files[sources + name] = content;
  const std::string headers = sources + "headers/";
  for (const auto& [name, content] : kernel.build.headers) files[headers + name] = content;
  files[inside + "flags.json"] = flags_text(kernel);
  files[inside + "signature.json"] = signature_text(kernel);
  files[inside + "reference.py"] = kernel.task.code;
  return files;
}

}  // namespace warpsmith::actors
