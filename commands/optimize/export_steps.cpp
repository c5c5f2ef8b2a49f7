// SPDX-License-Identifier: Apache-2.0
// The steps of a bound plan as C++ of an exported op.
#include "commands/optimize/export_package.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>

#include "runtime/json_text.hpp"

namespace warpsmith::commands {
namespace {

using sandbox::BoundArgument, sandbox::BoundConv, sandbox::BoundCopy, sandbox::BoundGemm,
    sandbox::BoundLaunch, sandbox::BoundMatrix, sandbox::BoundMemset, sandbox::BoundPlan,
    sandbox::BoundPointer, sandbox::BoundScalar, sandbox::BoundStep, sandbox::BoundTensorMap;
using sandbox::Epilogue, sandbox::has_step, sandbox::ScalarType, sandbox::Swizzle,
    sandbox::uses_tf32;

std::string number(uint64_t value) {
  return std::to_string(value);
}

template <class T>
std::string list(const std::vector<T>& values) {
  std::string out;
  for (const T& value : values) out += (out.empty() ? "" : ", ") + std::to_string(value);
  return '{' + out + '}';
}

std::string extent(const std::optional<sandbox::Extent3>& value) {
  if (!value) return "{0, 0, 0}";
  return '{' + number(value->x) + ", " + number(value->y) + ", " + number(value->z) + '}';
}

std::string map_type(Dtype type) {
  switch (type) {
#define WARPSMITH_CASE(ours, cudas) \
  case Dtype::ours:                 \
    return "CU_TENSOR_MAP_DATA_TYPE_" #cudas;
    // NOLINTNEXTLINE(bugprone-branch-clone): several types have the same bytes
    WARPSMITH_TENSOR_MAP_TYPES(WARPSMITH_CASE)
#undef WARPSMITH_CASE
  }
  return "CU_TENSOR_MAP_DATA_TYPE_UINT8";
}

std::string map_swizzle(Swizzle swizzle) {
  switch (swizzle) {
#define WARPSMITH_CASE(ours, cudas) \
  case Swizzle::ours:               \
    return "CU_TENSOR_MAP_SWIZZLE_" #cudas;
    WARPSMITH_SWIZZLES(WARPSMITH_CASE)
#undef WARPSMITH_CASE
  }
  return "CU_TENSOR_MAP_SWIZZLE_NONE";
}

/// Reals go by their bits, so that each is the same number.
std::string scalar_text(const BoundScalar& scalar) {
  if (scalar.type == ScalarType::f32) {
    return "uint32_t{" + number(std::bit_cast<uint32_t>(static_cast<float>(scalar.real))) + "U}";
  }
  if (scalar.type == ScalarType::f64) {
    return "uint64_t{" + number(std::bit_cast<uint64_t>(scalar.real)) + "U}";
  }
  return "static_cast<int64_t>(" + number(static_cast<uint64_t>(scalar.whole)) + "U)";
}

std::string argument_text(const BoundArgument& argument, const BoundPlan& plan) {
  if (const auto* pointer = std::get_if<BoundPointer>(&argument)) {
    return "parameter(c.at(" + number(pointer->buffer) + "))";
  }
  if (const auto* scalar = std::get_if<BoundScalar>(&argument)) {
    return "parameter(" + scalar_text(*scalar) + ')';
  }
  const auto& map = std::get<BoundTensorMap>(argument);
  return "c.tensor_map(" + number(map.buffer) + ", " + map_type(plan.buffers[map.buffer].dtype) +
         ", " + list(map.shape) + ", " + list(map.strides) + ", " + list(map.box) + ", " +
         map_swizzle(map.swizzle) + ')';
}

std::string step_text(const BoundLaunch& launch, const BoundPlan& plan) {
  std::string out = "  c.launch({" + json_text(nlohmann::json(launch.kernel)) + ", " +
                    extent(launch.grid) + ", " + extent(launch.block) + ", " +
                    extent(launch.cluster) + ", " + number(launch.shared) + ", " +
                    (launch.cooperative ? "true" : "false") + "},\n           {";
  for (size_t i = 0; i < launch.args.size(); ++i) {
    out += (i == 0 ? "" : ",\n            ") + argument_text(launch.args[i], plan);
  }
  return out + "});\n";
}

std::string data_type(Dtype type) {
  if (type == Dtype::f16) return "CUDA_R_16F";
  return type == Dtype::bf16 ? "CUDA_R_16BF" : "CUDA_R_32F";
}

std::string matrix_text(const BoundMatrix& matrix, const BoundPlan& plan) {
  return fmt::format("{{{}, {}, {}, {}, {}, {}, {}}}", number(matrix.buffer),
                     data_type(plan.buffers[matrix.buffer].dtype), matrix.rows, matrix.columns,
                     matrix.row, matrix.stride, matrix.transposed ? "true" : "false");
}

const char* compute_text(const BoundGemm& gemm, const BoundPlan& plan) {
  return uses_tf32(gemm, plan.buffers) ? "CUBLAS_COMPUTE_32F_FAST_TF32" : "CUBLAS_COMPUTE_32F";
}

std::string bits_text(double value) {
  return number(std::bit_cast<uint32_t>(static_cast<float>(value))) + 'U';
}

const char* epilogue_name(Epilogue epilogue) {
  switch (epilogue) {
    case Epilogue::relu:
      return "RELU";
    case Epilogue::gelu:
      return "GELU";
    case Epilogue::bias:
      return "BIAS";
    case Epilogue::bias_relu:
      return "RELU_BIAS";
    case Epilogue::bias_gelu:
      return "GELU_BIAS";
    case Epilogue::none:
      break;
  }
  return "DEFAULT";
}

std::string step_text(const BoundGemm& gemm, const BoundPlan& plan) {
  std::string out =
      fmt::format("  multiply(c, {{{}, {}, {},\n           {}, {}, {}, {}, {}, {}, {}}}",
                  matrix_text(gemm.out, plan), matrix_text(gemm.a, plan), matrix_text(gemm.b, plan),
                  gemm.m, gemm.n, gemm.k, gemm.batch, compute_text(gemm, plan),
                  bits_text(gemm.alpha), bits_text(gemm.beta));
  if (gemm.epilogue != Epilogue::none) {
    out += std::string(",\n           CUBLASLT_EPILOGUE_") + epilogue_name(gemm.epilogue) + ", " +
           (gemm.bias ? "c.at(" + number(*gemm.bias) + ')' : std::string("0"));
  }
  return out + ");\n";
}

std::string step_text(const BoundMemset& memset, const BoundPlan& plan) {
  return "  c.fill(" + number(memset.out) + ", " + number(memset.value) + ", " +
         number(plan.buffers[memset.out].bytes) + ");\n";
}

std::string step_text(const BoundCopy& copy, const BoundPlan& plan) {
  return "  c.copy(" + number(copy.out) + ", " + number(copy.from) + ", " +
         number(plan.buffers[copy.out].bytes) + ");\n";
}

/// `unexportable` names such a plan.
std::string step_text(const BoundConv& /*conv*/, const BoundPlan& /*plan*/) {
  return "";
}

std::string scratch_text(const BoundPlan& plan) {
  std::vector<uint64_t> bytes;
  for (const sandbox::BoundBuffer& buffer : plan.buffers) {
    if (buffer.scratch) bytes.push_back(sandbox::rounded_scratch(buffer.bytes));
  }
  return bytes.empty() ? "" : "  c.scratch(" + list(bytes) + ");\n";
}

std::string function_text(size_t index, const BoundPlan& plan) {
  std::string out = "\nvoid steps_" + number(index) + "(Call& c) {\n" + scratch_text(plan);
  if (has_step<BoundLaunch>(plan)) out += "  c.reset();\n";
  for (const BoundStep& step : plan.steps) {
    out += std::visit([&](const auto& what) { return step_text(what, plan); }, step.what);
  }
  return out + "}\n";
}

}  // namespace

std::optional<std::string> unexportable(const sandbox::BoundPlan& plan) {
  for (const BoundStep& step : plan.steps) {
    if (!std::holds_alternative<BoundConv>(step.what)) continue;
    return fmt::format(
        "plan.toml:{}: a `conv` step is not exported, because torch's own call of cuDNN may choose "
        "another algorithm than the one that was judged; kernel/ holds the sources",
        step.place.line);
  }
  return std::nullopt;
}

void add_plan_values(const std::vector<BoundPlan>& plans, Placeholders& values) {
  values.insert({{"PLANS", number(plans.size())},
                 {"PORTABLE_CLUSTER", number(sandbox::portable_cluster)},
                 {"PRODUCT_INCLUDES", ""},
                 {"PRODUCTS", ""},
                 {"STEPS", ""},
                 {"STEP_NAMES", ""}});
  for (size_t i = 0; i < plans.size(); ++i) {
    values["STEPS"] += function_text(i, plans[i]);
    values["STEP_NAMES"] += (i == 0 ? "&steps_" : ", &steps_") + number(i);
  }
  if (!std::ranges::any_of(plans, has_step<BoundGemm>)) return;
  values["WORKSPACE_MIB"] = number(sandbox::gemm_workspace_bytes >> 20U);
  values["ALIGNMENT"] = number(sandbox::buffer_alignment);
  values["PRODUCT_INCLUDES"] = "\n#include <ATen/cuda/CUDAContext.h>\n#include <cublasLt.h>\n";
  values["PRODUCTS"] = '\n' + filled_template("plan/products.cpp", values);
}

}  // namespace warpsmith::commands
