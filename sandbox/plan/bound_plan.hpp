// SPDX-License-Identifier: Apache-2.0
// A plan for given extents, as a launcher executes it: numbers replace expressions, indices replace
// names, and every access of a library step lies within its buffer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/result.hpp"
#include "runtime/task.hpp"
#include "sandbox/plan/plan.hpp"

namespace warpsmith::sandbox {

struct BoundBuffer {
  std::string name;
  Dtype dtype = Dtype::f32;
  std::vector<int64_t> shape;
  uint64_t bytes = 0;
  TensorRole role = TensorRole::input;
  bool scratch = false;
  bool writable() const { return scratch || role == TensorRole::output; }

  template <class Archive>
  void serialize(Archive& archive) {
    archive(name, dtype, shape, bytes, role, scratch);
  }
};

struct Extent3 {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t volume() const { return uint64_t{x} * y * z; }

  template <class Archive>
  void serialize(Archive& archive) {
    archive(x, y, z);
  }
};

struct BoundScalar {
  ScalarType type = ScalarType::fitting;
  int64_t whole = 0;
  double real = 0;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(type, whole, real);
  }
};
struct BoundPointer {
  uint32_t buffer = 0;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(buffer);
  }
};
struct BoundTensorMap {
  uint32_t buffer = 0;
  std::vector<uint64_t> shape;    // elements, innermost first
  std::vector<uint64_t> strides;  // bytes; no entry for the innermost dimension
  std::vector<uint32_t> box;      // elements
  Swizzle swizzle = Swizzle::none;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(buffer, shape, strides, box, swizzle);
  }
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

  template <class Archive>
  void serialize(Archive& archive) {
    archive(kernel, kernel_place, grid, block, cluster, shared, cooperative, args, arg_places);
  }
};

/// One matrix of a product: row-major as stored, before any transposition.
struct BoundMatrix {
  uint32_t buffer = 0;
  int64_t rows = 0, columns = 0;
  int64_t row = 0;     // elements from row to row
  int64_t stride = 0;  // elements from matrix to matrix of a batch
  bool transposed = false;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(buffer, rows, columns, row, stride, transposed);
  }
};
struct BoundGemm {
  BoundMatrix out, a, b;
  std::optional<uint32_t> bias;
  int64_t m = 0, n = 0, k = 0, batch = 1;
  ComputeType compute = ComputeType::f32;
  Epilogue epilogue = Epilogue::none;
  double alpha = 1, beta = 0;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(out, a, b, bias, m, n, k, batch, compute, epilogue, alpha, beta);
  }
};

struct BoundConv {
  uint32_t out = 0, x = 0, w = 0;
  std::vector<int64_t> stride, padding, dilation;  // one per spatial extent
  int64_t groups = 1;
  ComputeType compute = ComputeType::f32;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(out, x, w, stride, padding, dilation, groups, compute);
  }
};

struct BoundMemset {
  uint32_t out = 0;
  uint8_t value = 0;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(out, value);
  }
};
struct BoundCopy {
  uint32_t out = 0, from = 0;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(out, from);
  }
};

struct BoundStep {
  std::variant<BoundLaunch, BoundGemm, BoundConv, BoundMemset, BoundCopy> what;
  PlanPlace place;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(what, place);
  }
};

struct BoundPlan {
  std::vector<BoundBuffer> buffers;  // the task's tensors in their order, then scratch
  uint64_t scratch_bytes = 0;        // sum over all scratch, each rounded up to 256
  size_t variant = 0;                // index of the chosen variant
  std::vector<BoundStep> steps;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(buffers, scratch_bytes, variant, steps);
  }
};

/// The share of a plan's `scratch_bytes` that a scratch buffer takes.
inline uint64_t rounded_scratch(uint64_t bytes) {
  constexpr uint64_t alignment = 256;
  return (bytes + alignment - 1) / alignment * alignment;
}

/// The limits of the device and the task.
struct PlanLimits {
  uint64_t scratch_bytes = 1ULL << 30U;
  uint32_t shared_bytes = 227U << 10U;  // dynamic shared memory of one block
  uint32_t cluster_blocks = 8;
  PrecisionLane lane = PrecisionLane::fp32_strict;
};

/// Looks up names, evaluates expressions and checks everything that does not need the compiled
/// kernels. Variants that these extents do not choose (bound_variants.hpp) are checked for errors
/// that no extents could fix. The error is `invalid_config`, with one line for each mistake.
Result<BoundPlan> bind_plan(const Plan& plan, const TaskSignature& signature,
                            const PlanLimits& limits);

}  // namespace warpsmith::sandbox
