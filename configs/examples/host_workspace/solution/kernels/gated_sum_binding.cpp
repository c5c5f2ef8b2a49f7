// SPDX-License-Identifier: Apache-2.0
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/types.h>

#include "../binding_registry.h"

extern "C" void gated_sum_launcher(const float* x, const float* y, const float* bias, float* out,
                                   long rows, int columns, float alpha, cudaStream_t stream);

static torch::Tensor gated_sum_forward(const torch::Tensor& x, const torch::Tensor& y,
                                       const torch::Tensor& bias, double alpha) {
  TORCH_CHECK(x.is_cuda() && x.is_contiguous() && y.is_contiguous() && x.dim() == 2 &&
                  x.size(1) % 4 == 0 && x.scalar_type() == torch::kFloat32,
              "expected contiguous float32 rows on a GPU, a multiple of 4 long");
  auto out = torch::empty_like(x);
  gated_sum_launcher(x.data_ptr<float>(), y.data_ptr<float>(), bias.data_ptr<float>(),
                     out.data_ptr<float>(), x.size(0), static_cast<int>(x.size(1)),
                     static_cast<float>(alpha), c10::cuda::getCurrentCUDAStream());
  return out;
}

REGISTER_BINDING(gated_sum, [](pybind11::module& m) {
  m.def("gated_sum_forward", &gated_sum_forward, py::arg("x"), py::arg("y"), py::arg("bias"),
        py::arg("alpha"));
})
