// SPDX-License-Identifier: Apache-2.0
#include "sandbox/plan/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <sstream>

#include "sandbox/plan/plan.hpp"
#include "sandbox/reference/description.hpp"

namespace warpsmith::sandbox {
namespace {

std::string written(const PlacedExpression& expression) {
  return expression.expression.text();
}

std::string written(const std::vector<PlacedExpression>& list) {
  std::string text;
  for (const PlacedExpression& one : list) text += (text.empty() ? "" : ", ") + written(one);
  return "(" + text + ")";
}

std::string written(const Argument& argument) {
  if (const auto* buffer = std::get_if<BufferName>(&argument)) return buffer->name;
  if (const auto* map = std::get_if<TensorMapArgument>(&argument)) {
    return "a tensor map of " + map->buffer.name;
  }
  const auto& scalar = std::get<ScalarArgument>(argument);
  const bool real = scalar.type == ScalarType::f32 || scalar.type == ScalarType::f64;
  if (!real) return written(scalar.whole);
  std::ostringstream text;
  text << scalar.real;
  return text.str();
}

/// The sentence of a step.
struct StepWords {
  std::string operator()(const LaunchStep& step) const {
    std::string text = "launches kernel " + step.kernel.name + " with a grid of " +
                       written(step.grid) + " blocks of " + written(step.block) + " threads";
    if (!step.cluster.empty()) text += ", in clusters of " + written(step.cluster);
    if (written(step.shared) != "0")
      text += ", " + written(step.shared) + " bytes of shared memory";
    if (step.cooperative) text += ", cooperatively";
    std::string arguments;
    for (const Argument& one : step.args)
      arguments += (arguments.empty() ? "" : ", ") + written(one);
    return text + (arguments.empty() ? ", without arguments" : "; arguments: " + arguments);
  }
  std::string operator()(const GemmStep& step) const {
    const auto side = [](const BufferName& buffer, bool transposed) {
      return buffer.name + (transposed ? " transposed" : "");
    };
    std::string text = "multiplies matrices: " + step.out.name + " = " +
                       side(step.a, step.trans_a) + " * " + side(step.b, step.trans_b) +
                       " with m = " + written(step.m) + ", n = " + written(step.n) +
                       ", k = " + written(step.k);
    if (step.batch) text += ", " + written(*step.batch) + " times";
    if (step.epilogue != Epilogue::none) {
      text += ", then " + std::string(name_of(step.epilogue, epilogue_names));
    }
    return text + ", in " + std::string(name_of(step.compute, compute_names));
  }
  std::string operator()(const ConvStep& step) const {
    return "convolves: " + step.out.name + " = " + step.x.name + " * " + step.w.name + ", in " +
           std::string(name_of(step.compute, compute_names));
  }
  std::string operator()(const MemsetStep& step) const {
    return fmt::format("sets every byte of {} to {}", step.out.name, step.value);
  }
  std::string operator()(const CopyStep& step) const {
    return "copies " + step.from.name + " to " + step.out.name;
  }
};

std::string variant_line(const Plan& plan, size_t index) {
  if (plan.variants.size() == 1) return {};
  const Variant& variant = plan.variants[index];
  const std::string when = variant.when ? "if " + written(*variant.when) : "in all other cases";
  return fmt::format("variant {} of {}, line {}, {}:\n", index + 1, plan.variants.size(),
                     variant.place.line, when);
}

template <class T>
std::string list_of(const std::vector<T>& values) {
  std::ostringstream text;
  text << '[';
  for (size_t i = 0; i < values.size(); ++i) text << (i == 0 ? "" : ", ") << values[i];
  text << ']';
  return text.str();
}

std::string extent_text(const Extent3& extent) {
  return fmt::format("({}, {}, {})", extent.x, extent.y, extent.z);
}

/// The type of an integer that is passed as `bytes` bytes.
std::string_view fitting_type(int64_t whole, uint32_t bytes) {
  if (bytes == 0) return {};
  if (bytes != 4) return "i64";
  return whole > std::numeric_limits<int32_t>::max() ? "u32" : "i32";
}

std::string_view type_of(const BoundScalar& scalar, uint32_t parameter) {
  switch (scalar.type) {
    case ScalarType::i32:
      return "i32";
    case ScalarType::i64:
      return "i64";
    case ScalarType::f32:
      return "f32";
    case ScalarType::f64:
      return "f64";
    default:
      return fitting_type(scalar.whole, parameter);
  }
}

/// "3 (i32)". The type is shown because a kernel takes any 4 bytes for its float.
std::string scalar_text(const BoundScalar& scalar, uint32_t parameter) {
  std::ostringstream text;
  if (scalar.type == ScalarType::f32 || scalar.type == ScalarType::f64)
    text << scalar.real;
  else
    text << scalar.whole;
  const std::string_view type = type_of(scalar, parameter);
  if (!type.empty()) text << " (" << type << ')';
  return text.str();
}

class Explainer {
 public:
  Explainer(const BoundPlan& bound, const CubinFacts& cubin) : bound_(bound), cubin_(cubin) {}

  std::string operator()(const BoundLaunch& launch) const {
    std::string text = "launch " + launch.kernel + " grid " + extent_text(launch.grid) + " block " +
                       extent_text(launch.block);
    if (launch.cluster) text += " cluster " + extent_text(*launch.cluster);
    if (launch.shared > 0) text += fmt::format(" shared {} bytes", launch.shared);
    if (launch.cooperative) text += " cooperative";
    text += "\n      args";
    for (size_t i = 0; i < launch.args.size(); ++i) {
      text += " " + argument_text(launch.args[i], parameter_bytes(launch.kernel, i));
    }
    return text;
  }
  std::string operator()(const BoundGemm& gemm) const {
    std::ostringstream text;
    text << "gemm " << name(gemm.out.buffer) << " = " << matrix_text(gemm.a) << " * "
         << matrix_text(gemm.b) << "  m " << gemm.m << " n " << gemm.n << " k " << gemm.k;
    if (gemm.batch > 1) text << " batch " << gemm.batch;
    if (gemm.alpha != 1) text << " alpha " << gemm.alpha;
    if (gemm.beta != 0) text << " beta " << gemm.beta;
    if (gemm.bias) text << " bias " << name(*gemm.bias);
    if (gemm.epilogue != Epilogue::none) {
      text << " epilogue " << name_of(gemm.epilogue, epilogue_names);
    }
    text << " in " << name_of(gemm.compute, compute_names);
    return text.str();
  }
  std::string operator()(const BoundConv& conv) const {
    return fmt::format("conv {} = {} * {} stride {} padding {} dilation {} groups {} in {}",
                       name(conv.out), name(conv.x), name(conv.w), list_of(conv.stride),
                       list_of(conv.padding), list_of(conv.dilation), conv.groups,
                       name_of(conv.compute, compute_names));
  }
  std::string operator()(const BoundMemset& memset) const {
    return fmt::format("memset {} to bytes {}", name(memset.out), memset.value);
  }
  std::string operator()(const BoundCopy& copy) const {
    return "copy " + name(copy.out) + " = " + name(copy.from);
  }

 private:
  const std::string& name(uint32_t buffer) const { return bound_.buffers[buffer].name; }

  std::string matrix_text(const BoundMatrix& matrix) const {
    return name(matrix.buffer) + " " + list_of(std::vector<int64_t>{matrix.rows, matrix.columns}) +
           (matrix.transposed ? " transposed" : "");
  }

  /// 0 if the size is unknown.
  uint32_t parameter_bytes(const std::string& kernel, size_t i) const {
    const auto found = cubin_.kernels.find(kernel);
    if (found == cubin_.kernels.end() || i >= found->second.parameters.size()) return 0;
    return found->second.parameters[i].bytes;
  }

  std::string argument_text(const BoundArgument& argument, uint32_t parameter) const {
    if (const auto* pointer = std::get_if<BoundPointer>(&argument)) return name(pointer->buffer);
    if (const auto* map = std::get_if<BoundTensorMap>(&argument)) {
      return "map(" + name(map->buffer) + " " + list_of(map->shape) + " box " + list_of(map->box) +
             ")";
    }
    return scalar_text(std::get<BoundScalar>(argument), parameter);
  }

  const BoundPlan& bound_;
  const CubinFacts& cubin_;
};

std::string symbols_text(const std::vector<std::string>& symbols) {
  std::string text;
  for (const std::string& symbol : symbols) text += (text.empty() ? " (" : ", ") + symbol;
  return text.empty() ? text : text + ')';
}

std::string kernel_text(const KernelFacts& kernel) {
  std::string text = fmt::format(
      "{} registers and {} bytes of local memory (arrays, spilled registers) a thread, {} bytes of "
      "static shared memory a block",
      kernel.registers, kernel.stack_bytes, kernel.shared_bytes);
  if (kernel.max_threads == 0) return text;
  return fmt::format("{}, at most {} threads a block", text, kernel.max_threads);
}

bool is_launched(const std::string& kernel, const std::vector<BoundStep>& steps) {
  return std::ranges::any_of(steps, [&](const BoundStep& step) {
    const auto* launch = std::get_if<BoundLaunch>(&step.what);
    return launch != nullptr && launch->kernel == kernel;
  });
}

std::string launches_text(const std::string& kernel, const BoundVariants& bound) {
  if (is_launched(kernel, bound.chosen.steps)) return {};
  const bool elsewhere = std::ranges::any_of(
      bound.others, [&](const OtherVariant& other) { return is_launched(kernel, other.steps); });
  return elsewhere ? " (launched by another variant)" : " (not launched)";
}

/// The first of several misfits.
std::string misfits_text(const PlanErrors& misfits) {
  const std::string all = misfits.text();
  const size_t end = all.find('\n');
  const std::string first = all.substr(0, end);
  return end == std::string::npos ? first : first + ", and more";
}

std::string status_text(size_t variant, const BoundVariants& bound) {
  if (variant == bound.chosen.variant) return "carried out";
  const auto& other = *std::ranges::find(bound.others, variant, &OtherVariant::index);
  if (other.misfits.empty()) return "not chosen; would fit these extents";
  return "not chosen; would not fit these extents: " + misfits_text(other.misfits);
}

std::string variants_text(const Plan& plan, const BoundVariants& bound) {
  std::ostringstream text;
  const size_t count = plan.variants.size();
  for (size_t i = 0; count > 1 && i < count; ++i) {
    const Variant& variant = plan.variants[i];
    const size_t steps = variant.steps.size();
    text << "variant " << i + 1 << " of " << count << ", line " << variant.place.line;
    if (variant.when) text << ", when " << variant.when->expression.text();
    text << ", " << steps << (steps == 1 ? " step: " : " steps: ") << status_text(i, bound) << '\n';
  }
  return text.str();
}

}  // namespace

std::string describe(const Plan& plan) {
  std::ostringstream text;
  for (const ScratchBuffer& buffer : plan.scratch) {
    text << "scratch buffer " << buffer.name << ", line " << buffer.place.line << ": "
         << to_string(buffer.dtype) << ' ' << written(buffer.shape) << '\n';
  }
  for (size_t i = 0; i < plan.variants.size(); ++i) {
    text << variant_line(plan, i);
    const auto& steps = plan.variants[i].steps;
    for (size_t k = 0; k < steps.size(); ++k) {
      text << "step " << k + 1 << ", line " << steps[k].place.line << ": "
           << std::visit(StepWords{}, steps[k].what) << '\n';
    }
  }
  return text.str();
}

std::string explain(const TaskSignature& signature) {
  std::ostringstream text;
  text << "extents";
  for (size_t i = 0; i < signature.dims.size(); ++i) {
    text << (i == 0 ? " " : ", ") << signature.dim_names[i] << " = " << signature.dims[i];
  }
  text << '\n';
  for (const TensorSpec& tensor : signature.tensors) {
    text << to_string(tensor.role) << ' ' << tensor.name << ' ' << to_string(tensor.dtype) << ' '
         << list_of(tensor.shape) << symbols_text(tensor.symbols) << '\n';
  }
  return text.str();
}

std::string explain_kernels(const BoundVariants& bound, const CubinFacts& cubin) {
  std::string text;
  for (const auto& [name, kernel] : cubin.kernels) {
    text += "kernel " + name + launches_text(name, bound) + ": " + kernel_text(kernel) + '\n';
  }
  return text;
}

std::string explain(const Plan& plan, const BoundVariants& bound, const CubinFacts& cubin) {
  const BoundPlan& chosen = bound.chosen;
  std::ostringstream text;
  text << variants_text(plan, bound);
  for (const BoundBuffer& buffer : chosen.buffers) {
    if (!buffer.scratch) continue;
    text << "scratch " << buffer.name << " " << to_string(buffer.dtype) << " "
         << list_of(buffer.shape) << " " << buffer.bytes << " bytes\n";
  }
  if (chosen.scratch_bytes > 0) text << "scratch in all " << chosen.scratch_bytes << " bytes\n";
  for (size_t i = 0; i < chosen.steps.size(); ++i) {
    const BoundStep& step = chosen.steps[i];
    text << "step " << i + 1 << ", line " << step.place.line << ": "
         << std::visit(Explainer{chosen, cubin}, step.what) << '\n';
  }
  return text.str();
}

}  // namespace warpsmith::sandbox
