// SPDX-License-Identifier: Apache-2.0
// A launch plan: the steps that a candidate of contract `device` wants to run, as data.
//
// [scratch.partial]                 # a named extra buffer
//   dtype = "f32"
//   shape = ["d0", "ceildiv(d1, 1024)"]
//
//   [[step]]                          # steps run in order, one after another
//   launch = "row_sums"               # names an extern "C" __global__ function of kernels.cu
//   grid = ["d0", "ceildiv(d1, 1024)"]
//   block = [256]
//   args = ["x", "partial", "d1"]
//
//   [[step]]
//   gemm = "out"                      # out = a · b, by NVIDIA's library
//   a = "x"
//   b = "weight"
//   trans_b = true
//   m = "d0"
//   n = "d2"
//   k = "d1"
//
// Other steps: conv, memset, copy. With `[[variant]] when = "d1 % 4 == 0"` and `[[variant.step]]`,
// the first variant whose condition holds runs. A quoted number is an expression (expression.hpp)
// over the names of the task's extents.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/describe.hpp"
#include "runtime/task.hpp"
#include "sandbox/plan/expression.hpp"

namespace warpsmith::sandbox {

inline constexpr const char* plan_file = "plan.toml";
inline constexpr const char* device_source_file = "kernels.cu";

/// A position in plan.toml; both numbers count from 1.
struct PlanPlace {
  uint32_t line = 0;
  uint32_t column = 0;

  WARPSMITH_RECORD(line, column)
};

/// An expression and the place of its first character.
struct PlacedExpression {
  Expression expression;
  PlanPlace place;
};

/// The name of a tensor of the task or of a scratch buffer.
struct BufferName {
  std::string name;
  PlanPlace place;
};

struct ScratchBuffer {
  std::string name;
  Dtype dtype = Dtype::f32;
  std::vector<PlacedExpression> shape;
  PlanPlace place;
};

/// The type of a scalar argument. `fitting`: an integer with the width of the kernel's parameter.
enum class ScalarType : uint8_t { fitting, i32, i64, f32, f64 };

struct ScalarArgument {
  ScalarType type = ScalarType::fitting;
  PlacedExpression whole;  // i32, i64, fitting
  double real = 0;         // f32, f64
  PlanPlace place;
};

enum class Swizzle : uint8_t { none, b32, b64, b128 };

/// A tensor map (TMA descriptor) over a buffer. The launcher makes it and passes it by value.
struct TensorMapArgument {
  BufferName buffer;
  std::vector<PlacedExpression> shape;    // elements, innermost first; 1 to 5
  std::vector<PlacedExpression> strides;  // bytes; no entry for the innermost dimension
  std::vector<PlacedExpression> box;      // elements of one transfer
  Swizzle swizzle = Swizzle::none;
};

using Argument = std::variant<BufferName, ScalarArgument, TensorMapArgument>;

struct LaunchStep {
  BufferName kernel;                                   // its name and place
  std::vector<PlacedExpression> grid, block, cluster;  // 1 to 3 each; empty: no cluster
  PlacedExpression shared;                             // bytes of dynamic shared memory
  bool cooperative = false;
  std::vector<Argument> args;
};

/// The arithmetic of a library step. `tf32` needs a task whose lane allows it.
enum class ComputeType : uint8_t { f32, tf32 };
/// `gelu` is the tanh form, the only one in the library.
enum class Epilogue : uint8_t { none, relu, gelu, bias, bias_relu, bias_gelu };

/// out[b] = epilogue(alpha · op(a[b]) · op(b[b]) + beta · out[b]), row-major: op(a) is m×k, op(b)
/// k×n. `bias` has n elements.
struct GemmStep {
  BufferName out, a, b;
  std::optional<BufferName> bias;
  PlacedExpression m, n, k;
  std::optional<PlacedExpression> batch;
  std::optional<PlacedExpression> stride_a, stride_b, stride_out;  // elements between matrices
  std::optional<PlacedExpression> row_a, row_b, row_out;           // elements between rows
  bool trans_a = false, trans_b = false;
  ComputeType compute = ComputeType::f32;
  PlanPlace compute_place;
  Epilogue epilogue = Epilogue::none;
  double alpha = 1, beta = 0;
};

/// out = x ∗ w: a cross-correlation like torch's conv1d to conv3d. Extents come from the buffers.
struct ConvStep {
  BufferName out, x, w;
  std::vector<PlacedExpression> stride, padding,
      dilation;  // one per spatial extent; empty: 1, 0, 1
  std::optional<PlacedExpression> groups;
  ComputeType compute = ComputeType::f32;
  PlanPlace compute_place;
};

struct MemsetStep {
  BufferName out;
  uint8_t value = 0;  // written to every byte
};

struct CopyStep {
  BufferName out, from;  // both of the same size
};

struct Step {
  std::variant<LaunchStep, GemmStep, ConvStep, MemsetStep, CopyStep> what;
  PlanPlace place;
};

struct Variant {
  std::optional<PlacedExpression> when;  // empty: always true
  std::vector<Step> steps;
  PlanPlace place;
};

struct Plan {
  std::vector<ScratchBuffer> scratch;
  std::vector<Variant> variants;  // the first whose condition holds runs
};

/// The words that plan.toml uses for enumerators.
template <class E, size_t n>
using PlanWords = std::array<std::pair<std::string_view, E>, n>;

inline constexpr PlanWords<ComputeType, 2> compute_names{
    {{"f32", ComputeType::f32}, {"tf32", ComputeType::tf32}}};
inline constexpr PlanWords<Epilogue, 6> epilogue_names{{{"none", Epilogue::none},
                                                        {"relu", Epilogue::relu},
                                                        {"gelu", Epilogue::gelu},
                                                        {"bias", Epilogue::bias},
                                                        {"bias_relu", Epilogue::bias_relu},
                                                        {"bias_gelu", Epilogue::bias_gelu}}};
inline constexpr PlanWords<Swizzle, 4> swizzle_names{
    {{"none", Swizzle::none}, {"32", Swizzle::b32}, {"64", Swizzle::b64}, {"128", Swizzle::b128}}};

/// Requires a value in the list.
template <class E, size_t n>
std::string_view name_of(E value, const PlanWords<E, n>& names) {
  for (const auto& [name, known] : names) {
    if (known == value) return name;
  }
  return "?";
}

}  // namespace warpsmith::sandbox
