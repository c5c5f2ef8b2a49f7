// SPDX-License-Identifier: Apache-2.0
// Binds the steps of a plan: numbers replace names and expressions, with one function per kind of
// step. `PlanScope` resolves the names for given extents. Errors go to the scope's errors; the
// result is then invalid.
#pragma once

#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sandbox/plan/bound_plan.hpp"
#include "sandbox/plan/plan_errors.hpp"

namespace warpsmith::sandbox {

/// The inclusive bounds of a value.
struct ValueRange {
  int64_t least = 0, most = 0;
};

/// How a step uses a buffer.
enum class Access : uint8_t { read, write, any };  // any: a kernel may do either

class PlanScope {
 public:
  PlanScope(const TaskSignature& signature, PlanErrors& errors);

  void add_scratch(const ScratchBuffer& scratch);

  /// The same tensors and scratch, none of them written. Errors go to `errors`.
  PlanScope of_variant(PlanErrors& errors) const { return {*this, errors}; }

  /// The value of an expression. If none lies in the range, reports an error and returns the
  /// least.
  int64_t value(const PlacedExpression& expression, ValueRange range, const std::string& what);

  /// The index of a buffer. Reports an error and returns nothing for an unknown name, a write to an
  /// input, or a read of a buffer that no earlier step can have written; the last is not reported
  /// after an error in an earlier write.
  std::optional<uint32_t> buffer(const BufferName& name, Access access);

  bool is_symbol(const std::string& name) const { return symbols_.contains(name); }
  static PlacedExpression symbol(const BufferName& name);

  std::vector<BoundBuffer>& buffers() { return buffers_; }
  const BoundBuffer& at(uint32_t index) const { return buffers_[index]; }
  /// Requires an element of `buffers()`.
  bool written(const BoundBuffer& buffer) const {
    return written_.contains(static_cast<uint32_t>(&buffer - buffers_.data()));
  }
  /// False for scratch whose shape has an error: its size is unknown.
  bool has_size(uint32_t index) const { return !unsized_.contains(index); }
  /// An earlier write has an error, so a buffer that seems unwritten may be what that step meant.
  bool has_wrong_write() const { return has_wrong_write_; }
  uint64_t scratch_bytes() const { return scratch_bytes_; }
  PlanErrors& errors() { return errors_; }

 private:
  PlanScope(const PlanScope& plan, PlanErrors& errors)
      : symbols_(plan.symbols_),
        buffers_(plan.buffers_),
        unsized_(plan.unsized_),
        scratch_bytes_(plan.scratch_bytes_),
        errors_(errors) {}

  Expression::Symbols symbols_;
  std::vector<BoundBuffer> buffers_;
  std::set<uint32_t> written_, unsized_;
  bool has_wrong_write_ = false;
  uint64_t scratch_bytes_ = 0;
  PlanErrors& errors_;
};

inline constexpr ValueRange any_value{std::numeric_limits<int64_t>::min(),
                                      std::numeric_limits<int64_t>::max()};

struct BindContext {
  PlanScope& scope;
  const PlanLimits& limits;
};

BoundLaunch bind_launch(const LaunchStep& step, const BindContext& to);
BoundGemm bind_gemm(const GemmStep& step, const BindContext& to);
BoundConv bind_conv(const ConvStep& step, const BindContext& to);
BoundMemset bind_memset(const MemsetStep& step, const BindContext& to);
BoundCopy bind_copy(const CopyStep& step, PlanPlace place, const BindContext& to);

/// Reports a compute type that the task's lane does not allow.
void check_lane(ComputeType compute, PlanPlace place, const BindContext& to);

}  // namespace warpsmith::sandbox
