// SPDX-License-Identifier: Apache-2.0
#include "sandbox/launch/launcher_plan.hpp"

#include <algorithm>
#include <optional>

#include "sandbox/launch/step_checks.hpp"

namespace warpsmith::sandbox {
namespace {

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
    if (auto checked = check_slot(plan, i); !checked) return checked;
  }
  return {};
}

}  // namespace

Result<void> LauncherPlan::validate() const {
  if (auto checked = check_buffers(plan); !checked) return checked;
  if (auto checked = check_layout(*this); !checked) return checked;
  if (plan.steps.size() > most_steps) return broken("too many steps");
  for (const BoundStep& step : plan.steps) {
    if (const std::string wrong = wrong_in(step, plan.buffers); !wrong.empty()) {
      return broken(wrong);
    }
  }
  return {};
}

std::string at_place(PlanPlace place, const std::string& what) {
  return std::string(plan_file) + ":" + std::to_string(place.line) + ":" +
         std::to_string(place.column) + ": " + what;
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
