// SPDX-License-Identifier: Apache-2.0
#include "tests/sandbox/support/software_device/software_library.hpp"

#include <array>
#include <cmath>
#include <numbers>

#include "tests/sandbox/support/software_device/element.hpp"

namespace warpsmith::sandbox::testing {
namespace {

/// The tanh form, like cuBLASLt's.
double gelu(double x) {
  const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + std::tanh(inner));
}

double activated(Epilogue epilogue, double value) {
  switch (epilogue) {
    case Epilogue::relu:
    case Epilogue::bias_relu:
      return value > 0 ? value : 0;
    case Epilogue::gelu:
    case Epilogue::bias_gelu:
      return gelu(value);
    case Epilogue::none:
    case Epilogue::bias:
      break;
  }
  return value;
}

/// One operand of a product: op(matrix) by row and column.
struct Operand {
  const BoundMatrix& matrix;
  Dtype dtype;
  const std::byte* base;

  double at(int64_t batch, int64_t i, int64_t j) const {
    const int64_t row = matrix.transposed ? j : i, column = matrix.transposed ? i : j;
    return load_element(dtype, base, batch * matrix.stride + row * matrix.row + column);
  }
};

/// A convolution with three spatial extents; missing leading ones are 1.
struct Window {
  std::array<int64_t, 3> x{1, 1, 1}, w{1, 1, 1}, out{1, 1, 1};
  std::array<int64_t, 3> stride{1, 1, 1}, padding{0, 0, 0}, dilation{1, 1, 1};

  Window(const BoundConv& conv, const std::vector<BoundBuffer>& buffers) {
    const size_t count = conv.stride.size(), lead = 3 - count;
    for (size_t i = 0; i < count; ++i) {
      x[lead + i] = buffers[conv.x].shape[i + 2];
      w[lead + i] = buffers[conv.w].shape[i + 2];
      out[lead + i] = buffers[conv.out].shape[i + 2];
      stride[lead + i] = conv.stride[i];
      padding[lead + i] = conv.padding[i];
      dilation[lead + i] = conv.dilation[i];
    }
  }

  static int64_t volume(const std::array<int64_t, 3>& extents) {
    return extents[0] * extents[1] * extents[2];
  }
  static std::array<int64_t, 3> place(int64_t index, const std::array<int64_t, 3>& extents) {
    return {index / (extents[1] * extents[2]), index / extents[2] % extents[1], index % extents[2]};
  }
  /// The index in x that tap `tap` of output `at` reads; −1: padding.
  int64_t source(const std::array<int64_t, 3>& at, const std::array<int64_t, 3>& tap) const {
    int64_t index = 0;
    for (size_t i = 0; i < 3; ++i) {
      const int64_t from = at[i] * stride[i] - padding[i] + tap[i] * dilation[i];
      if (from < 0 || from >= x[i]) return -1;
      index = index * x[i] + from;
    }
    return index;
  }
};

}  // namespace

void software_gemm(const BoundGemm& gemm, const std::vector<BoundBuffer>& buffers,
                   const BufferBases& bases) {
  const auto dtype = [&](uint32_t buffer) { return buffers[buffer].dtype; };
  const Operand a{gemm.a, dtype(gemm.a.buffer), bases[gemm.a.buffer]};
  const Operand b{gemm.b, dtype(gemm.b.buffer), bases[gemm.b.buffer]};
  const Dtype kind = dtype(gemm.out.buffer);
  std::byte* out = bases[gemm.out.buffer];
  for (int64_t batch = 0; batch < gemm.batch; ++batch) {
    for (int64_t i = 0; i < gemm.m; ++i) {
      for (int64_t j = 0; j < gemm.n; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < gemm.k; ++k) sum += a.at(batch, i, k) * b.at(batch, k, j);
        const int64_t at = batch * gemm.out.stride + i * gemm.out.row + j;
        double value = gemm.alpha * sum;
        if (gemm.beta != 0) value += gemm.beta * load_element(kind, out, at);
        if (gemm.bias) value += load_element(kind, bases[*gemm.bias], j);
        store_element(kind, out, at, activated(gemm.epilogue, value));
      }
    }
  }
}

void software_conv(const BoundConv& conv, const std::vector<BoundBuffer>& buffers,
                   const BufferBases& bases) {
  const Window window(conv, buffers);
  const Dtype dtype = buffers[conv.x].dtype;
  const int64_t images = buffers[conv.x].shape[0], channels = buffers[conv.x].shape[1];
  const int64_t filters = buffers[conv.w].shape[0], depth = buffers[conv.w].shape[1];
  const int64_t in_space = Window::volume(window.x), taps = Window::volume(window.w);
  const int64_t out_space = Window::volume(window.out);
  const auto one = [&](int64_t image, int64_t filter, int64_t at) {
    const int64_t first = filter / (filters / conv.groups) * depth;  // channel of its group
    double sum = 0;
    for (int64_t c = 0; c < depth; ++c) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        const int64_t from =
            window.source(Window::place(at, window.out), Window::place(tap, window.w));
        if (from < 0) continue;
        sum +=
            load_element(dtype, bases[conv.x], (image * channels + first + c) * in_space + from) *
            load_element(dtype, bases[conv.w], (filter * depth + c) * taps + tap);
      }
    }
    store_element(dtype, bases[conv.out], (image * filters + filter) * out_space + at, sum);
  };
  for (int64_t image = 0; image < images; ++image) {
    for (int64_t filter = 0; filter < filters; ++filter) {
      for (int64_t at = 0; at < out_space; ++at) one(image, filter, at);
    }
  }
}

}  // namespace warpsmith::sandbox::testing
