// SPDX-License-Identifier: Apache-2.0
#include "sandbox/launch/launcher_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "sandbox/plan/bound_plan.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr int64_t most_extent = (int64_t{1} << 31) - 1;
constexpr int64_t most_stride = int64_t{1} << 40;
constexpr int64_t most_window = int64_t{1} << 20;
constexpr size_t longest_name = 512, most_args = 1024, most_map_extents = 5;

bool within(int64_t value, int64_t least, int64_t most) {
  return value >= least && value <= most;
}

bool is_real(Dtype dtype) {
  return dtype == Dtype::f32 || dtype == Dtype::f16 || dtype == Dtype::bf16;
}

class Checks {
 public:
  explicit Checks(const std::vector<BoundBuffer>& buffers) : buffers_(buffers) {}

  std::string operator()(const BoundLaunch& launch) const {
    if (launch.kernel.empty() || launch.kernel.size() > longest_name ||
        launch.kernel.find('\0') != std::string::npos) {
      return "not a name of a kernel";
    }
    if (!fits(launch.grid, {most_extent, 65535, 65535}) || !fits(launch.block, {1024, 1024, 64}) ||
        launch.block.volume() > 1024) {
      return "impossible grid or block";
    }
    if (launch.cluster && !divides(*launch.cluster, launch.grid)) return "impossible cluster";
    if (launch.shared > 1U << 20U) return "impossible shared memory";
    if (launch.args.size() > most_args || launch.args.size() != launch.arg_places.size()) {
      return "impossible arguments";
    }
    return {};
  }
  std::string operator()(const BoundPointer& pointer) const {
    return has(pointer.buffer) ? "" : "an argument is not a buffer";
  }
  std::string operator()(const BoundScalar& scalar) const {
    return scalar.type <= ScalarType::f64 ? "" : "an argument of an unknown type";
  }
  std::string operator()(const BoundTensorMap& map) const {
    const size_t rank = map.shape.size();
    if (!has(map.buffer) || rank == 0 || rank > most_map_extents || map.box.size() != rank ||
        map.strides.size() + 1 != rank || map.swizzle > Swizzle::b128) {
      return "impossible tensor map";
    }
    const BoundBuffer& buffer = buffers_[map.buffer];
    const uint64_t unit = element_bytes(buffer.dtype);
    uint64_t reach = unit;
    for (size_t i = 0; i < rank; ++i) {
      const uint64_t stride = i == 0 ? unit : map.strides[i - 1];
      uint64_t span = 0;
      if (map.shape[i] == 0 || map.box[i] == 0 || map.box[i] > 256 ||
          __builtin_mul_overflow(map.shape[i] - 1, stride, &span) ||
          __builtin_add_overflow(reach, span, &reach)) {
        return "impossible tensor map";
      }
    }
    return reach <= buffer.bytes ? "" : "a tensor map reaches beyond its buffer";
  }

  std::string operator()(const BoundGemm& gemm) const {
    if (gemm.compute > ComputeType::tf32 || gemm.epilogue > Epilogue::bias_gelu ||
        !std::isfinite(gemm.alpha) || !std::isfinite(gemm.beta)) {
      return "gemm: unknown arithmetic";
    }
    for (const int64_t extent : {gemm.m, gemm.n, gemm.k, gemm.batch}) {
      if (!within(extent, 1, most_extent)) return "gemm: impossible extents";
    }
    const auto shaped = [&](const BoundMatrix& matrix, int64_t rows, int64_t columns) {
      if (matrix.transposed) std::swap(rows, columns);
      return matrix.rows == rows && matrix.columns == columns && lies_within(matrix, gemm.batch);
    };
    if (gemm.out.transposed || !shaped(gemm.out, gemm.m, gemm.n) ||
        !shaped(gemm.a, gemm.m, gemm.k) || !shaped(gemm.b, gemm.k, gemm.n)) {
      return "gemm: a matrix lies outside its buffer";
    }
    const Dtype a = buffers_[gemm.a.buffer].dtype, out = buffers_[gemm.out.buffer].dtype;
    if (!is_real(a) || buffers_[gemm.b.buffer].dtype != a || (out != a && out != Dtype::f32) ||
        !buffers_[gemm.out.buffer].writable()) {
      return "gemm: impossible types";
    }
    return wrong_bias(gemm);
  }

  std::string operator()(const BoundConv& conv) const {
    if (!has(conv.out) || !has(conv.x) || !has(conv.w) || conv.compute > ComputeType::tf32) {
      return "conv: no such buffer";
    }
    const BoundBuffer &x = buffers_[conv.x], &w = buffers_[conv.w], &out = buffers_[conv.out];
    const size_t rank = x.shape.size();
    if (rank < 3 || rank > 5 || w.shape.size() != rank || out.shape.size() != rank ||
        conv.stride.size() != rank - 2 || conv.padding.size() != rank - 2 ||
        conv.dilation.size() != rank - 2) {
      return "conv: impossible ranks";
    }
    if (!is_real(x.dtype) || w.dtype != x.dtype || out.dtype != x.dtype || !out.writable()) {
      return "conv: impossible types";
    }
    for (const BoundBuffer* buffer : {&x, &w, &out}) {
      for (const int64_t extent : buffer->shape) {
        if (!within(extent, 1, most_extent)) return "conv: impossible extents";
      }
    }
    if (!within(conv.groups, 1, x.shape[1]) || x.shape[1] % conv.groups != 0 ||
        w.shape[0] % conv.groups != 0 || w.shape[1] != x.shape[1] / conv.groups ||
        out.shape[0] != x.shape[0] || out.shape[1] != w.shape[0]) {
      return "conv: channels and groups do not match";
    }
    for (size_t i = 0; i + 2 < rank; ++i) {
      if (!window_fits(conv, i)) return "conv: windows do not match the output";
    }
    return {};
  }

  std::string operator()(const BoundMemset& memset) const {
    return has(memset.out) && buffers_[memset.out].writable() ? "" : "memset of no such buffer";
  }
  std::string operator()(const BoundCopy& copy) const {
    const bool fine = has(copy.out) && has(copy.from) && buffers_[copy.out].writable() &&
                      buffers_[copy.out].bytes == buffers_[copy.from].bytes;
    return fine ? "" : "copy between other buffers";
  }

 private:
  bool has(uint32_t buffer) const { return buffer < buffers_.size(); }

  static bool fits(const Extent3& extent, const std::array<int64_t, 3>& most) {
    return within(extent.x, 1, most[0]) && within(extent.y, 1, most[1]) &&
           within(extent.z, 1, most[2]);
  }
  static bool divides(const Extent3& cluster, const Extent3& grid) {
    return fits(cluster, {16, 16, 16}) && cluster.volume() <= 16 && grid.x % cluster.x == 0 &&
           grid.y % cluster.y == 0 && grid.z % cluster.z == 0;
  }

  bool lies_within(const BoundMatrix& matrix, int64_t batch) const {
    if (!has(matrix.buffer) || !within(matrix.row, matrix.columns, most_extent) ||
        !within(matrix.stride, 0, most_stride)) {
      return false;
    }
    const BoundBuffer& buffer = buffers_[matrix.buffer];
    const uint64_t end = end_of(matrix, batch);
    return end > 0 && end <= buffer.bytes / element_bytes(buffer.dtype);
  }

  std::string wrong_bias(const BoundGemm& gemm) const {
    const bool wanted = gemm.epilogue >= Epilogue::bias;
    if (!gemm.bias) return wanted ? "gemm: no bias" : "";
    if (!wanted || !has(*gemm.bias)) return "gemm: no such bias";
    const BoundBuffer& bias = buffers_[*gemm.bias];
    const Dtype out = buffers_[gemm.out.buffer].dtype;
    const bool fine =
        bias.dtype == out && bias.bytes / element_bytes(out) == static_cast<uint64_t>(gemm.n);
    return fine ? "" : "gemm: impossible bias";
  }

  bool window_fits(const BoundConv& conv, size_t i) const {
    const int64_t stride = conv.stride[i], padding = conv.padding[i], dilation = conv.dilation[i];
    if (!within(stride, 1, most_extent) || !within(padding, 0, most_window) ||
        !within(dilation, 1, most_window)) {
      return false;
    }
    const int64_t span = dilation * (buffers_[conv.w].shape[i + 2] - 1) + 1;
    const int64_t padded = buffers_[conv.x].shape[i + 2] + 2 * padding;
    return padded >= span && buffers_[conv.out].shape[i + 2] == (padded - span) / stride + 1;
  }

  const std::vector<BoundBuffer>& buffers_;
};

std::string wrong_in_arguments(const BoundLaunch& launch, const Checks& checks) {
  for (size_t i = 0; i < launch.args.size(); ++i) {
    const std::string wrong = std::visit(checks, launch.args[i]);
    if (!wrong.empty()) return at_place(launch.arg_places[i], wrong);
  }
  return {};
}

/// What is wrong with a step that arrived over a socket, in the form of `at_place`; empty if it is
/// valid. Never reads out of bounds, whatever the numbers are. Requires buffers with checked types
/// and sizes.
std::string wrong_in(const BoundStep& step, const std::vector<BoundBuffer>& buffers) {
  const Checks checks{buffers};
  const auto* launch = std::get_if<BoundLaunch>(&step.what);
  const std::string wrong = std::visit(checks, step.what);
  if (!wrong.empty()) return at_place(launch == nullptr ? step.place : launch->kernel_place, wrong);
  return launch == nullptr ? "" : wrong_in_arguments(*launch, checks);
}

constexpr size_t most_buffers = 4096, most_sets = 65536, most_steps = 4096;
constexpr uint64_t most_memory = 1ULL << 48U;

tl::unexpected<Error> broken(const std::string& what) {
  return fail(ErrorCode::parse_failed, "launcher plan: " + what);
}

/// Bytes of a tensor; empty for a negative extent or more bytes than any memory has.
std::optional<uint64_t> bytes_of(const BoundBuffer& buffer) {
  uint64_t bytes = element_bytes(buffer.dtype);
  for (const int64_t extent : buffer.shape) {
    if (extent < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(extent), &bytes)) {
      return std::nullopt;
    }
  }
  if (bytes > most_memory) return std::nullopt;
  return bytes;
}

/// The task's tensors come first, then scratch.
Result<void> check_buffers(const BoundPlan& plan) {
  if (plan.buffers.size() > most_buffers) return broken("too many buffers");
  uint64_t scratch = 0;
  bool scratch_began = false;
  for (const BoundBuffer& buffer : plan.buffers) {
    const bool known = buffer.dtype <= Dtype::boolean && buffer.role <= TensorRole::output;
    if (!known || buffer.bytes != bytes_of(buffer)) {
      return broken("\"" + buffer.name + "\" has an impossible type or size");
    }
    if (scratch_began && !buffer.scratch) return broken("a tensor after scratch");
    scratch_began = buffer.scratch;
    if (buffer.scratch) scratch += rounded_scratch(buffer.bytes);
  }
  if (scratch > plan.scratch_bytes || plan.scratch_bytes > most_memory) {
    return broken("scratch does not fit its bytes");
  }
  return {};
}

Result<void> check_slot(const LauncherPlan& plan, size_t i) {
  const BufferSlot& slot = plan.layout.slots[i];
  const BoundBuffer& buffer = plan.plan.buffers[i];
  const uint64_t stride = slot.output ? plan.layout.output_stride : plan.layout.input_stride;
  if (slot.output != (buffer.role == TensorRole::output) || slot.bytes != buffer.bytes) {
    return broken("the slot of \"" + buffer.name + "\" is another tensor's");
  }
  if (slot.offset > stride || slot.bytes > stride - slot.offset || slot.offset % 64 != 0) {
    return broken("\"" + buffer.name + "\" lies outside its memory");
  }
  return {};
}

Result<void> check_layout(const LauncherPlan& plan) {
  const BufferLayout& layout = plan.layout;
  if (layout.sets == 0 || layout.sets > most_sets ||
      layout.input_stride > most_memory / layout.sets ||
      layout.output_stride > most_memory / layout.sets) {
    return broken("impossible sets or strides");
  }
  if (layout.input_total() > plan.input_bytes || layout.output_total() > plan.output_bytes ||
      plan.input_bytes > most_memory || plan.output_bytes > most_memory) {
    return broken("the sets do not fit their memories");
  }
  if (layout.input_stride % 64 != 0 || layout.output_stride % 64 != 0) {
    return broken("sets are not aligned");
  }
  const auto tensors = static_cast<size_t>(
      std::ranges::count_if(plan.plan.buffers, [](const auto& one) { return !one.scratch; }));
  if (layout.slots.size() != tensors) return broken("tensors and slots differ in number");
  for (size_t i = 0; i < tensors; ++i) {
    TRY_VOID(check_slot(plan, i));
  }
  return {};
}

}  // namespace

Result<void> LauncherPlan::validate() const {
  TRY_VOID(check_buffers(plan));
  TRY_VOID(check_layout(*this));
  if (plan.steps.size() > most_steps) return broken("too many steps");
  for (const BoundStep& step : plan.steps) {
    if (const std::string wrong = wrong_in(step, plan.buffers); !wrong.empty()) {
      return broken(wrong);
    }
  }
  return {};
}

std::string at_place(PlanPlace place, const std::string& what) {
  return fmt::format("{}:{}:{}: {}", plan_file, place.line, place.column, what);
}

uint64_t end_of(const BoundMatrix& matrix, int64_t batch) {
  __extension__ using Wide = __int128;
  if (batch < 1 || matrix.rows < 1 || matrix.columns < 1 || matrix.row < 0 || matrix.stride < 0) {
    return 0;
  }
  const Wide end =
      Wide{batch - 1} * matrix.stride + Wide{matrix.rows - 1} * matrix.row + matrix.columns;
  return end > Wide{most_memory} ? 0 : static_cast<uint64_t>(end);
}

}  // namespace warpsmith::sandbox
