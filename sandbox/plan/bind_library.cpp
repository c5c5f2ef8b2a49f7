// SPDX-License-Identifier: Apache-2.0
// Binds library steps of a plan. Every access is checked against its buffer before anything runs.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "sandbox/commit/shared_buffers.hpp"
#include "sandbox/plan/bind_step.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr int64_t most_extent = (int64_t{1} << 31) - 1;
constexpr int64_t most_stride = int64_t{1} << 40;
constexpr int64_t most_window = int64_t{1} << 20;  // limit of padding and dilation
constexpr ValueRange extents{1, most_extent};
constexpr ValueRange strides{0, most_stride};

bool is_real(Dtype dtype) {
  return dtype == Dtype::f32 || dtype == Dtype::f16 || dtype == Dtype::bf16;
}

int64_t value_or(const std::optional<PlacedExpression>& expression, int64_t otherwise,
                 ValueRange range, const std::string& what, PlanScope& scope) {
  return expression ? scope.value(*expression, range, what) : otherwise;
}

/// The end of the last element that a batch of matrices touches. The limits of the extents keep it
/// below Wide's range.
__extension__ using Wide = __int128;
Wide end_of(const BoundMatrix& matrix, int64_t batch) {
  return Wide{batch - 1} * matrix.stride + Wide{matrix.rows - 1} * matrix.row + matrix.columns;
}

std::string count_text(Wide count) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  if (count > most) return fmt::format("more than {}", most);
  return std::to_string(static_cast<int64_t>(count));
}

void check_matrix(const BoundMatrix& matrix, int64_t batch, const BufferName& name,
                  PlanScope& scope) {
  if (matrix.row < matrix.columns) {
    scope.errors().at_extents(name.place, fmt::format("rows of {} elements cannot begin every {}",
                                                      matrix.columns, matrix.row));
  }
  if (!scope.has_size(matrix.buffer)) return;
  const BoundBuffer& buffer = scope.at(matrix.buffer);
  const uint64_t elements = buffer.bytes / element_bytes(buffer.dtype);
  const Wide needed = end_of(matrix, batch);
  if (needed <= Wide{elements}) return;
  scope.errors().at_extents(
      name.place, fmt::format("the product reaches beyond the {} elements of \"{}\": it needs {}",
                              elements, buffer.name, count_text(needed)));
}

void check_matrices(const GemmStep& step, const BoundGemm& gemm, PlanScope& scope) {
  check_matrix(gemm.a, gemm.batch, step.a, scope);
  check_matrix(gemm.b, gemm.batch, step.b, scope);
  check_matrix(gemm.out, gemm.batch, step.out, scope);
  if (gemm.batch > 1 && end_of(gemm.out, 1) > gemm.out.stride) {
    scope.errors().at_extents(step.out.place, "the matrices of the batch overlap in the output");
  }
}

struct MatrixText {
  const std::optional<PlacedExpression>& row;
  const std::optional<PlacedExpression>& stride;
};

/// A matrix of `rows` × `columns`, as it lies in memory.
BoundMatrix matrix_of(const MatrixText& text, int64_t rows, int64_t columns, PlanScope& scope) {
  BoundMatrix matrix{.rows = rows, .columns = columns};
  matrix.row = value_or(text.row, columns, extents, "elements of a row", scope);
  matrix.stride = value_or(text.stride, rows * matrix.row, strides, "elements of a matrix", scope);
  return matrix;
}

/// A step with all its numbers and no buffers.
BoundGemm numbers_of(const GemmStep& step, PlanScope& scope) {
  BoundGemm gemm{.compute = step.compute, .epilogue = step.epilogue};
  gemm.alpha = step.alpha;
  gemm.beta = step.beta;
  gemm.m = scope.value(step.m, extents, "m");
  gemm.n = scope.value(step.n, extents, "n");
  gemm.k = scope.value(step.k, extents, "k");
  gemm.batch = value_or(step.batch, 1, extents, "batch", scope);
  const bool ta = step.trans_a, tb = step.trans_b;
  gemm.a =
      matrix_of({step.row_a, step.stride_a}, ta ? gemm.k : gemm.m, ta ? gemm.m : gemm.k, scope);
  gemm.b =
      matrix_of({step.row_b, step.stride_b}, tb ? gemm.n : gemm.k, tb ? gemm.k : gemm.n, scope);
  gemm.out = matrix_of({step.row_out, step.stride_out}, gemm.m, gemm.n, scope);
  gemm.a.transposed = ta;
  gemm.b.transposed = tb;
  return gemm;
}

/// Returns false if a buffer cannot be used this way.
bool find_buffers(const GemmStep& step, BoundGemm& gemm, PlanScope& scope) {
  const size_t before = scope.errors().size();
  gemm.a.buffer = scope.buffer(step.a, Access::read).value_or(0);
  gemm.b.buffer = scope.buffer(step.b, Access::read).value_or(0);
  if (step.bias) gemm.bias = scope.buffer(*step.bias, Access::read);
  if (step.beta != 0) (void)scope.buffer(step.out, Access::read);
  gemm.out.buffer = scope.buffer(step.out, Access::write).value_or(0);
  return scope.errors().size() == before;
}

/// `has_numbers`: m, n and k had no errors.
void check_types(const GemmStep& step, const BoundGemm& gemm, bool has_numbers, PlanScope& scope) {
  const Dtype a = scope.at(gemm.a.buffer).dtype, out = scope.at(gemm.out.buffer).dtype;
  if (a != scope.at(gemm.b.buffer).dtype || !is_real(a) || (out != a && out != Dtype::f32)) {
    scope.errors().at(step.out.place,
                      "a product takes two f32, f16 or bf16 operands of one type, and gives that "
                      "type or f32");
  }
  if (!gemm.bias) return;
  const BoundBuffer& bias = scope.at(*gemm.bias);
  const bool fits = bias.bytes / element_bytes(bias.dtype) == static_cast<uint64_t>(gemm.n);
  if (bias.dtype == out && (fits || !has_numbers || !scope.has_size(*gemm.bias))) return;
  scope.errors().at(step.bias->place,
                    fmt::format("a bias has the type of the output and n = {} elements", gemm.n),
                    bias.dtype == out ? Holds::at_these_extents : Holds::always);
}

/// The output's extent in spatial dimension `i`; −1 if the window does not fit.
int64_t windows(int64_t extent, int64_t window, const BoundConv& conv, size_t i) {
  const int64_t span = conv.dilation[i] * (window - 1) + 1;
  const int64_t padded = extent + 2 * conv.padding[i];
  return padded < span ? -1 : (padded - span) / conv.stride[i] + 1;
}

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (const int64_t extent : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + "]";
}

std::vector<int64_t> conv_shape(const BoundBuffer& x, const BoundBuffer& w, const BoundConv& conv) {
  std::vector<int64_t> shape{x.shape[0], w.shape[0]};
  for (size_t i = 0; i < conv.stride.size(); ++i) {
    shape.push_back(windows(x.shape[i + 2], w.shape[i + 2], conv, i));
  }
  return shape;
}

std::vector<int64_t> spatial(const std::vector<PlacedExpression>& list, size_t count,
                             int64_t otherwise, ValueRange range, PlanScope& scope) {
  std::vector<int64_t> values;
  values.reserve(std::max(count, list.size()));
  for (const PlacedExpression& one : list) {
    values.push_back(scope.value(one, range, "a spatial extent"));
  }
  values.resize(std::max(count, values.size()), otherwise);
  return values;
}

/// Checks what applies to all extents.
bool check_conv_types(const ConvStep& step, const BoundConv& conv, PlanScope& scope) {
  const BoundBuffer &x = scope.at(conv.x), &w = scope.at(conv.w), &out = scope.at(conv.out);
  const auto complain = [&](const std::string& what) {
    scope.errors().at(step.out.place, "conv: " + what);
    return false;
  };
  const size_t count = x.shape.size() - 2;  // the caller checked that there are more than two
  if (conv.stride.size() != count || conv.padding.size() != count ||
      conv.dilation.size() != count) {
    return complain("more strides, paddings or dilations than spatial extents");
  }
  if (x.dtype != w.dtype || x.dtype != out.dtype || !is_real(x.dtype)) {
    return complain("all three are f32, f16 or bf16, of one type");
  }
  return true;
}

void check_conv_shapes(const ConvStep& step, const BoundConv& conv, PlanScope& scope) {
  const BoundBuffer &x = scope.at(conv.x), &w = scope.at(conv.w), &out = scope.at(conv.out);
  const auto complain = [&](const std::string& what) {
    scope.errors().at_extents(step.out.place, "conv: " + what);
  };
  for (const BoundBuffer* buffer : {&x, &w, &out}) {
    for (const int64_t extent : buffer->shape) {
      if (extent >= extents.least && extent <= extents.most) continue;
      return complain(fmt::format("an extent of \"{}\", {}, is not from 1 to {}", buffer->name,
                                  shape_text(buffer->shape), most_extent));
    }
  }
  if (x.shape[1] % conv.groups != 0 || w.shape[0] % conv.groups != 0 ||
      w.shape[1] != x.shape[1] / conv.groups) {
    return complain(fmt::format("channels {} in {} groups do not match weights {}", x.shape[1],
                                conv.groups, shape_text(w.shape)));
  }
  const std::vector<int64_t> wanted = conv_shape(x, w, conv);
  if (out.shape != wanted) {
    complain("the output is " + shape_text(wanted) + ", \"" + out.name + "\" is " +
             shape_text(out.shape));
  }
}

}  // namespace

void check_lane(ComputeType compute, PlanPlace place, const BindContext& to) {
  if (compute == ComputeType::f32 || to.limits.lane == PrecisionLane::tf32_allowed) return;
  to.scope.errors().at(place, "this task's lane is fp32-strict: compute = \"tf32\" is not allowed");
}

BoundGemm bind_gemm(const GemmStep& step, const BindContext& to) {
  PlanScope& scope = to.scope;
  const size_t before = scope.errors().size();
  BoundGemm gemm = numbers_of(step, scope);
  const bool has_numbers = scope.errors().size() == before;
  check_lane(step.compute, step.compute_place, to);
  if (!find_buffers(step, gemm, scope)) return gemm;
  check_types(step, gemm, has_numbers, scope);
  if (has_numbers) check_matrices(step, gemm, scope);
  return gemm;
}

BoundConv bind_conv(const ConvStep& step, const BindContext& to) {
  PlanScope& scope = to.scope;
  BoundConv conv{.compute = step.compute};
  check_lane(step.compute, step.compute_place, to);
  const size_t before = scope.errors().size();
  conv.x = scope.buffer(step.x, Access::read).value_or(0);
  conv.w = scope.buffer(step.w, Access::read).value_or(0);
  conv.out = scope.buffer(step.out, Access::write).value_or(0);
  if (scope.errors().size() != before) return conv;
  const size_t rank = scope.at(conv.x).shape.size();
  if (rank < 3 || rank > 5 || scope.at(conv.w).shape.size() != rank ||
      scope.at(conv.out).shape.size() != rank) {
    scope.errors().at(step.out.place,
                      "conv: x, w and the output have 1 to 3 spatial extents, equally many");
    return conv;
  }
  conv.stride = spatial(step.stride, rank - 2, 1, extents, scope);
  conv.padding = spatial(step.padding, rank - 2, 0, {0, most_window}, scope);
  conv.dilation = spatial(step.dilation, rank - 2, 1, {1, most_window}, scope);
  conv.groups = value_or(step.groups, 1, extents, "groups", scope);
  const bool has_numbers = scope.errors().size() == before && scope.has_size(conv.x) &&
                           scope.has_size(conv.w) && scope.has_size(conv.out);
  if (check_conv_types(step, conv, scope) && has_numbers) check_conv_shapes(step, conv, scope);
  return conv;
}

BoundMemset bind_memset(const MemsetStep& step, const BindContext& to) {
  return {to.scope.buffer(step.out, Access::write).value_or(0), step.value};
}

BoundCopy bind_copy(const CopyStep& step, PlanPlace place, const BindContext& to) {
  const auto from = to.scope.buffer(step.from, Access::read);
  const auto out = to.scope.buffer(step.out, Access::write);
  if (!from || !out) return {};
  const BoundBuffer &source = to.scope.at(*from), &target = to.scope.at(*out);
  if (source.bytes != target.bytes && to.scope.has_size(*from) && to.scope.has_size(*out)) {
    to.scope.errors().at_extents(
        place, fmt::format("copy: \"{}\" has {} bytes, \"{}\" {}", source.name, source.bytes,
                           target.name, target.bytes));
  }
  return {*out, *from};
}

}  // namespace warpsmith::sandbox
