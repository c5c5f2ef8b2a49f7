// SPDX-License-Identifier: Apache-2.0
#include "commands/optimize/export_package.hpp"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <string_view>

#include "commands/optimize/export_operator.hpp"
#include "commands/optimize/export_steps.hpp"
#include "commands/optimize/export_types.hpp"
#include "runtime/json_text.hpp"

namespace warpsmith::commands {
namespace {

using nlohmann::json;

std::string_view role_name(TensorRole role) {
  if (role == TensorRole::input) return "input";
  return role == TensorRole::parameter ? "parameter" : "output";
}

std::string flags_text(const ExportedKernel& kernel) {
  const sandbox::LibraryBuild& build = kernel.build;
  const bool kernels =
      kernel.form != ExportForm::plan || std::ranges::any_of(kernel.plans, launches_kernel);
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
        {{"name", t.name}, {"role", role_name(t.role)}, {"dtype", type_names(t.dtype).python}});
  }
  return out;
}

json shape_json(const ExportedShape& shape) {
  json extents = json::array();
  for (const TensorSpec& t : shape.signature.tensors) extents.push_back(t.shape);
  return {{"function", shape.function},
          {"extents", extents},
          {"dims", shape.signature.dims},
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

/// The files around the kernel, whatever its form.
FileSet common_files(const ExportedKernel& kernel) {
  const std::string inside = package_name(kernel.task) + '/';
  const ExportTexts& texts = export_texts(kernel.form);
  FileSet files;
  files[inside + "__init__.py"] = std::string(export_init_head) + texts.load + export_init_tail;
  files[inside + "build.py"] = export_build_head + std::string(texts.build) + export_build_tail;
  files[inside + "models.py"] = export_models;
  files["test_regression.py"] = export_test_head + std::string(texts.timing) + export_test_tail;
  files["pyproject.toml"] = export_pyproject;
  files["README.md"] = replaced(export_readme, "@NEEDS@", texts.needs);
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
  FileSet files = common_files(kernel);
  if (kernel.form == ExportForm::module) {
    files[inside + "op.py"] = operator_module(kernel);
  } else {
    files[sources + "op.cpp"] = operator_source(kernel);
  }
  for (auto& [name, text] : files) text = replaced(std::move(text), "@PACKAGE@", package);
  for (const auto& [name, content] : kernel.files) files[sources + name] = content;
  for (const auto& [name, content] : provided_files(kernel)) files[sources + name] = content;
  files[inside + "flags.json"] = flags_text(kernel);
  files[inside + "signature.json"] = signature_text(kernel);
  files[inside + "reference.py"] = kernel.task.code;
  return files;
}

}  // namespace warpsmith::commands
