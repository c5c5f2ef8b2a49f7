// SPDX-License-Identifier: Apache-2.0
#include "commands/optimize/export_operator.hpp"

#include <algorithm>
#include <functional>
#include <string_view>

#include "commands/optimize/export_steps.hpp"
#include "commands/optimize/export_types.hpp"

namespace warpsmith::commands {
namespace {

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
  const auto written = [](size_t i) {
    return "Tensor(y" + std::to_string(i) + "!) y" + std::to_string(i);
  };
  return "solve_out(" + numbered("Tensor a", n.in) + ", " + comma_list(n.out, written) + ") -> ()";
}

/// torch wants a function of as many tensors as the schema has.
std::string solve_function(Counts n) {
  const auto part = [](const std::string& text) {
    return [text](size_t i) { return text + "out[" + std::to_string(i) + "]"; };
  };
  const std::string tuple =
      "std::tuple<" + comma_list(n.out, [](size_t) { return std::string("Tensor"); }) + ">";
  return (n.out == 1 ? std::string("Tensor") : tuple) + " solve_new(" +
         numbered("const Tensor& a", n.in) + ") {\n" +
         "  const std::array<const Tensor*, in_count> in{" + numbered("&a", n.in) + "};\n" +
         "  const Shape& shape = shape_of(in);\n" + "  auto out = made(shape, a0);\n" +
         "  run(in, {" + comma_list(n.out, part("&")) + "}, shape);\n" + "  return " +
         (n.out == 1 ? std::string("out[0]") : "{" + comma_list(n.out, part("")) + "}") +
         ";\n}\n\n";
}

std::string solve_out_function(Counts n) {
  return "void solve_given(" + numbered("const Tensor& a", n.in) + ", " +
         numbered("const Tensor& y", n.out) + ") {\n" +
         "  const std::array<const Tensor*, in_count> in{" + numbered("&a", n.in) + "};\n" +
         "  run(in, {" + numbered("&y", n.out) + "}, shape_of(in));\n}\n\n";
}

std::string registration(Counts n, const std::string& package, const std::string& device) {
  return "TORCH_LIBRARY(" + package + ", library) {\n  library.def(\"" + solve_schema(n) +
         "\");\n  library.def(\"" + solve_out_schema(n) + "\");\n}\n\nTORCH_LIBRARY_IMPL(" +
         package + ", " + device +
         ", library) {\n  library.impl(\"solve\", &solve_new);\n"
         "  library.impl(\"solve_out\", &solve_given);\n}\n";
}

/// What runs the kernel: `call`.
std::string call_source(const ExportedKernel& kernel) {
  std::string out = export_texts(kernel.form).call;
  if (std::ranges::any_of(kernel.plans, multiplies)) out += export_device_products;
  return kernel.form == ExportForm::plan ? out + steps_source(kernel.plans) : out;
}

}  // namespace

const ExportTexts& export_texts(ExportForm form) {
  switch (form) {
    case ExportForm::library:
      return cpu_export_texts();
    case ExportForm::plan:
      return device_export_texts();
    case ExportForm::module:
      return module_export_texts();
  }
  return cpu_export_texts();
}

std::string operator_source(const ExportedKernel& kernel) {
  std::string includes = export_texts(kernel.form).includes;
  if (std::ranges::any_of(kernel.plans, multiplies)) {
    includes += "#include <ATen/cuda/CUDAContext.h>\n#include <cublasLt.h>\n\n";
  }
  const Counts n = counts_of(kernel);
  return includes + export_operator_head + operator_tables(kernel) + call_source(kernel) +
         replaced(export_operator_tail, "@ROOM@", export_texts(kernel.form).room) +
         solve_function(n) + solve_out_function(n) + "}  // namespace\n\n" +
         registration(n, package_name(kernel.task),
                      kernel.form == ExportForm::plan ? "CUDA" : "CPU");
}

std::string operator_module(const ExportedKernel& kernel) {
  const Counts n = counts_of(kernel);
  const std::string text = replaced(export_module_operator, "@SOLVE@", solve_schema(n));
  return replaced(text, "@SOLVE_OUT@", solve_out_schema(n));
}

std::string replaced(std::string text, std::string_view mark, std::string_view by) {
  for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + by.size())) {
    text.replace(at, mark.size(), by);
  }
  return text;
}

}  // namespace warpsmith::commands
