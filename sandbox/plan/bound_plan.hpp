// SPDX-License-Identifier: Apache-2.0
// A plan for given extents, as a launcher executes it: numbers replace expressions, indices replace
// names, and every access of a library step lies within its buffer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/describe.hpp"
#include "runtime/result.hpp"
#include "runtime/task.hpp"
#include "sandbox/plan/plan.hpp"
#include "sandbox/plan/plan_errors.hpp"

namespace warpsmith::sandbox {

struct BoundBuffer {
  std::string name;
  Dtype dtype = Dtype::f32;
  std::vector<int64_t> shape;
  uint64_t bytes = 0;
  TensorRole role = TensorRole::input;
  bool scratch = false;
  bool writable() const { return scratch || role == TensorRole::output; }

  WARPSMITH_RECORD(name, dtype, shape, bytes, role, scratch)
};

struct Extent3 {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t volume() const { return uint64_t{x} * y * z; }

  WARPSMITH_RECORD(x, y, z)
};

struct BoundScalar {
  ScalarType type = ScalarType::fitting;
  int64_t whole = 0;
  double real = 0;

  WARPSMITH_RECORD(type, whole, real)
};
struct BoundPointer {
  uint32_t buffer = 0;

  WARPSMITH_RECORD(buffer)
};
struct BoundTensorMap {
  uint32_t buffer = 0;
  std::vector<uint64_t> shape;    // elements, innermost first
  std::vector<uint64_t> strides;  // bytes; no entry for the innermost dimension
  std::vector<uint32_t> box;      // elements
  Swizzle swizzle = Swizzle::none;

  WARPSMITH_RECORD(buffer, shape, strides, box, swizzle)
};
using BoundArgument = std::variant<BoundPointer, BoundScalar, BoundTensorMap>;

struct BoundLaunch {
  std::string kernel;
  PlanPlace kernel_place;
  Extent3 grid, block;
  std::optional<Extent3> cluster;
  uint32_t shared = 0;  // bytes
  bool cooperative = false;
  std::vector<BoundArgument> args;
  std::vector<PlanPlace> arg_places;

  WARPSMITH_RECORD(kernel, kernel_place, grid, block, cluster, shared, cooperative, args,
                   arg_places)
};

/// One matrix of a product: row-major as stored, before any transposition.
struct BoundMatrix {
  uint32_t buffer = 0;
  int64_t rows = 0, columns = 0;
  int64_t row = 0;     // elements from row to row
  int64_t stride = 0;  // elements from matrix to matrix of a batch
  bool transposed = false;

  WARPSMITH_RECORD(buffer, rows, columns, row, stride, transposed)
};
struct BoundGemm {
  BoundMatrix out, a, b;
  std::optional<uint32_t> bias;
  int64_t m = 0, n = 0, k = 0, batch = 1;
  ComputeType compute = ComputeType::f32;
  Epilogue epilogue = Epilogue::none;
  double alpha = 1, beta = 0;

  WARPSMITH_RECORD(out, a, b, bias, m, n, k, batch, compute, epilogue, alpha, beta)
};

struct BoundConv {
  uint32_t out = 0, x = 0, w = 0;
  std::vector<int64_t> stride, padding, dilation;  // one per spatial extent
  int64_t groups = 1;
  ComputeType compute = ComputeType::f32;

  WARPSMITH_RECORD(out, x, w, stride, padding, dilation, groups, compute)
};

struct BoundMemset {
  uint32_t out = 0;
  uint8_t value = 0;

  WARPSMITH_RECORD(out, value)
};
struct BoundCopy {
  uint32_t out = 0, from = 0;

  WARPSMITH_RECORD(out, from)
};

struct BoundStep {
  std::variant<BoundLaunch, BoundGemm, BoundConv, BoundMemset, BoundCopy> what;
  PlanPlace place;

  WARPSMITH_RECORD(what, place)
};

struct BoundPlan {
  std::vector<BoundBuffer> buffers;  // the task's tensors in their order, then scratch
  uint64_t scratch_bytes = 0;        // sum over all scratch, each rounded up to 256
  size_t variant = 0;                // index of the chosen variant
  std::vector<BoundStep> steps;

  WARPSMITH_RECORD(buffers, scratch_bytes, variant, steps)
};

/// The share of a plan's `scratch_bytes` that a scratch buffer takes.
inline uint64_t rounded_scratch(uint64_t bytes) {
  constexpr uint64_t alignment = 256;
  return (bytes + alignment - 1) / alignment * alignment;
}

// What a launcher and the op of an export do alike.

inline constexpr uint32_t buffer_alignment = 64;  // bytes, of every tensor and scratch buffer
inline constexpr uint32_t portable_cluster = 8;   // blocks; every device with clusters allows them

/// The workspace that torch gives cuBLAS on the same device, so that both choose the same kernels.
inline constexpr uint64_t gemm_workspace_bytes = 32ULL << 20U;

/// TF32 needs float32 operands and the plan's consent; all else computes in float32.
inline bool uses_tf32(const BoundGemm& gemm, const std::vector<BoundBuffer>& buffers) {
  return gemm.compute == ComputeType::tf32 && buffers[gemm.a.buffer].dtype == Dtype::f32;
}

/// CUDA's names for the element types of tensor maps and for swizzles, as TYPE(Dtype, CUDA's). Maps
/// copy bytes: a type without a name there has that of the unsigned integer of its size.
// clang-format off
#define WARPSMITH_TENSOR_MAP_TYPES(TYPE)                                        \
  TYPE(f32, FLOAT32) TYPE(f64, FLOAT64) TYPE(f16, FLOAT16) TYPE(bf16, BFLOAT16) \
  TYPE(i64, INT64) TYPE(i32, INT32) TYPE(i16, UINT16) TYPE(i8, UINT8)           \
  TYPE(u8, UINT8) TYPE(boolean, UINT8)
// clang-format on
#define WARPSMITH_SWIZZLES(SWIZZLE) \
  SWIZZLE(none, NONE) SWIZZLE(b32, 32B) SWIZZLE(b64, 64B) SWIZZLE(b128, 128B)

template <class Step>
bool has_step(const BoundPlan& plan) {
  return std::ranges::any_of(
      plan.steps, [](const BoundStep& step) { return std::holds_alternative<Step>(step.what); });
}

/// The limits of the device and the task.
struct PlanLimits {
  uint64_t scratch_bytes = 1ULL << 30U;
  uint32_t shared_bytes = 227U << 10U;  // dynamic shared memory of one block
  uint32_t cluster_blocks = 8;
  PrecisionLane lane = PrecisionLane::fp32_strict;
};

/// Looks up names, evaluates expressions and checks everything that does not need the compiled
/// kernels. Variants that these extents do not choose are checked for errors
/// that no extents could fix. The error is `invalid_config`, with one line for each mistake.
Result<BoundPlan> bind_plan(const Plan& plan, const TaskSignature& signature,
                            const PlanLimits& limits);

/// A variant that these extents do not choose.
struct OtherVariant {
  size_t index = 0;
  std::vector<BoundStep> steps;  // meaningful only without `misfits`
  PlanErrors misfits;            // why these extents could not use it; not errors of the plan
};

/// A bound plan and its other variants at the same extents.
struct BoundVariants {
  BoundPlan chosen;
  std::vector<OtherVariant> others;  // in the plan's order
};

/// Binds every variant; `bind_plan` returns only the chosen one. A mistake that no extents could
/// fix is an error in every variant; one that depends on the extents is an error only in the chosen
/// variant. On failure `other_errors` are reported too, but they do not make a plan fail by
/// themselves.
Result<BoundVariants> bind_variants(const Plan& plan, const TaskSignature& signature,
                                    const PlanLimits& limits, const PlanErrors& other_errors = {});

}  // namespace warpsmith::sandbox
