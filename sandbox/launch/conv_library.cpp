// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "sandbox/launch/library_abi.hpp"
#include "sandbox/launch/library_steps.hpp"

namespace warpsmith::sandbox {
namespace {

struct ConvFunctions {
  int (*create)(void**) = nullptr;
  int (*destroy)(void*) = nullptr;
  int (*set_stream)(void*, CUstream) = nullptr;
  int (*create_tensor)(void**) = nullptr;
  int (*destroy_tensor)(void*) = nullptr;
  int (*set_tensor)(void*, int, int, const int*, const int*) = nullptr;
  int (*create_filter)(void**) = nullptr;
  int (*destroy_filter)(void*) = nullptr;
  int (*set_filter)(void*, int, int, int, const int*) = nullptr;
  int (*create_convolution)(void**) = nullptr;
  int (*destroy_convolution)(void*) = nullptr;
  int (*set_convolution)(void*, int, const int*, const int*, const int*, int, int) = nullptr;
  int (*set_groups)(void*, int) = nullptr;
  int (*set_math)(void*, int) = nullptr;
  int (*algorithms)(void*, void*, void*, void*, void*, int, int*,
                    cudnn::AlgorithmPerformance*) = nullptr;
  int (*workspace)(void*, void*, void*, void*, void*, int, size_t*) = nullptr;
  int (*forward)(void*, const void*, void*, const void*, void*, const void*, void*, int, void*,
                 size_t, const void*, void*, void*) = nullptr;

  explicit ConvFunctions(const cuda::DynamicLibrary& library) {
    take(library, "cudnnCreate", create);
    take(library, "cudnnDestroy", destroy);
    take(library, "cudnnSetStream", set_stream);
    take(library, "cudnnCreateTensorDescriptor", create_tensor);
    take(library, "cudnnDestroyTensorDescriptor", destroy_tensor);
    take(library, "cudnnSetTensorNdDescriptor", set_tensor);
    take(library, "cudnnCreateFilterDescriptor", create_filter);
    take(library, "cudnnDestroyFilterDescriptor", destroy_filter);
    take(library, "cudnnSetFilterNdDescriptor", set_filter);
    take(library, "cudnnCreateConvolutionDescriptor", create_convolution);
    take(library, "cudnnDestroyConvolutionDescriptor", destroy_convolution);
    take(library, "cudnnSetConvolutionNdDescriptor", set_convolution);
    take(library, "cudnnSetConvolutionGroupCount", set_groups);
    take(library, "cudnnSetConvolutionMathType", set_math);
    take(library, "cudnnGetConvolutionForwardAlgorithm_v7", algorithms);
    take(library, "cudnnGetConvolutionForwardWorkspaceSize", workspace);
    take(library, "cudnnConvolutionForward", forward);
  }
};

LibraryObject made_by(int (*create)(void**), int (*destroy)(void*), const char* what) {
  void* made = nullptr;
  succeed(create(&made), what);
  return {made, destroy};
}

cudnn::DataType cudnn_type(Dtype dtype) {
  if (dtype == Dtype::f16) return cudnn::data_f16;
  return dtype == Dtype::bf16 ? cudnn::data_bf16 : cudnn::data_f32;
}

/// Float32 operands use TF32 only if the plan allows it.
cudnn::Math math_of(const BoundConv& conv, Dtype dtype) {
  if (dtype != Dtype::f32) return cudnn::math_tensor;
  return conv.compute == ComputeType::tf32 ? cudnn::math_tensor : cudnn::math_fma;
}

/// cuDNN takes two or three spatial extents: `filler` is inserted in front of a single one.
std::vector<int> planar(const std::vector<int64_t>& values, size_t lead, int filler) {
  std::vector<int> out;
  out.reserve(values.size() + 1);
  for (const int64_t value : values) out.push_back(static_cast<int>(value));
  const size_t spatial = values.size() - lead;
  if (spatial == 1) out.insert(out.begin() + static_cast<std::ptrdiff_t>(lead), filler);
  return out;
}

std::vector<int> packed_strides(const std::vector<int>& shape) {
  std::vector<int> strides(shape.size(), 1);
  for (size_t i = shape.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

class Convolution {
 public:
  Convolution(const ConvFunctions& cudnn, void* handle, const BoundConv& conv,
              const std::vector<BoundBuffer>& buffers)
      : cudnn_(cudnn),
        conv_(conv),
        math_(math_of(conv, buffers[conv.x].dtype)),
        x_(tensor(buffers[conv.x])),
        w_(made_by(cudnn.create_filter, cudnn.destroy_filter, "cudnnCreateFilterDescriptor")),
        out_(tensor(buffers[conv.out])),
        convolution_(made_by(cudnn.create_convolution, cudnn.destroy_convolution,
                             "cudnnCreateConvolutionDescriptor")) {
    describe(buffers[conv.w]);
    choose(handle);
  }

  uint64_t workspace_bytes() const { return workspace_bytes_; }

  /// `workspace` has at least `workspace_bytes`.
  void enqueue(void* handle, const DeviceBases& bases, CUdeviceptr workspace) const {
    const float alpha = 1, beta = 0;
    const auto at = [&](uint32_t buffer) { return pointer_to(bases[buffer]); };
    succeed(cudnn_.forward(handle, &alpha, x_.get(), at(conv_.x), w_.get(), at(conv_.w),
                           convolution_.get(), algorithm_, pointer_to(workspace), workspace_bytes_,
                           &beta, out_.get(), at(conv_.out)),
            "cudnnConvolutionForward");
  }

 private:
  LibraryObject tensor(const BoundBuffer& buffer) const {
    LibraryObject made =
        made_by(cudnn_.create_tensor, cudnn_.destroy_tensor, "cudnnCreateTensorDescriptor");
    const std::vector<int> shape = planar(buffer.shape, 2, 1);
    const std::vector<int> strides = packed_strides(shape);
    succeed(cudnn_.set_tensor(made.get(), cudnn_type(buffer.dtype), static_cast<int>(shape.size()),
                              shape.data(), strides.data()),
            "cudnnSetTensorNdDescriptor");
    return made;
  }

  void describe(const BoundBuffer& w) const {
    const std::vector<int> shape = planar(w.shape, 2, 1);
    succeed(cudnn_.set_filter(w_.get(), cudnn_type(w.dtype), cudnn::format_nchw,
                              static_cast<int>(shape.size()), shape.data()),
            "cudnnSetFilterNdDescriptor");
    const std::vector<int> padding = planar(conv_.padding, 0, 0);
    const std::vector<int> stride = planar(conv_.stride, 0, 1);
    const std::vector<int> dilation = planar(conv_.dilation, 0, 1);
    succeed(cudnn_.set_convolution(convolution_.get(), static_cast<int>(padding.size()),
                                   padding.data(), stride.data(), dilation.data(),
                                   cudnn::cross_correlation, cudnn::data_f32),
            "cudnnSetConvolutionNdDescriptor");
    succeed(cudnn_.set_groups(convolution_.get(), static_cast<int>(conv_.groups)),
            "cudnnSetConvolutionGroupCount");
    succeed(cudnn_.set_math(convolution_.get(), math_), "cudnnSetConvolutionMathType");
  }

  /// Takes the first proposed algorithm that works, uses the arithmetic wanted and fits the memory.
  void choose(void* handle) {
    std::array<cudnn::AlgorithmPerformance, cudnn::forward_algorithms> proposals{};
    int count = 0;
    succeed(cudnn_.algorithms(handle, x_.get(), w_.get(), convolution_.get(), out_.get(),
                              cudnn::forward_algorithms, &count, proposals.data()),
            "cudnnGetConvolutionForwardAlgorithm");
    const auto proposed = proposals.begin() + std::clamp(count, 0, cudnn::forward_algorithms);
    for (auto one = proposals.begin(); one != proposed; ++one) {
      if (one->status != 0) continue;
      // A proposal may use TF32 although plain float32 was set: skip it.
      if (math_ == cudnn::math_fma && one->math == cudnn::math_tensor) continue;
      const int math = math_ == cudnn::math_fma ? int{math_} : one->math;
      if (cudnn_.set_math(convolution_.get(), math) != 0) continue;
      size_t bytes = 0;
      const int status = cudnn_.workspace(handle, x_.get(), w_.get(), convolution_.get(),
                                          out_.get(), one->algorithm, &bytes);
      if (status != 0 || bytes > conv_workspace_bytes) continue;
      algorithm_ = one->algorithm;
      workspace_bytes_ = bytes;
      return;
    }
    throw cuda::DeviceError("cuDNN has no algorithm for this convolution", 0);
  }

  const ConvFunctions& cudnn_;
  const BoundConv& conv_;
  cudnn::Math math_;
  LibraryObject x_, w_, out_, convolution_;
  int algorithm_ = 0;
  uint64_t workspace_bytes_ = 0;
};

class Cudnn final : public ConvLibrary {
 public:
  Cudnn(const cuda::Context& context, const cuda::DynamicLibrary& library)
      : api_(context.api()),
        cudnn_(library),
        handle_(made_by(cudnn_.create, cudnn_.destroy, "cudnnCreate")),
        workspace_(api_, 0) {}

  Enqueue prepare(const BoundConv& conv, const std::vector<BoundBuffer>& buffers) override {
    const auto made = std::make_shared<Convolution>(cudnn_, handle_.get(), conv, buffers);
    make_room(made->workspace_bytes());
    return [this, made](CUstream stream, const DeviceBases& bases) {
      succeed(cudnn_.set_stream(handle_.get(), stream), "cudnnSetStream");
      made->enqueue(handle_.get(), bases, workspace_.address());
    };
  }

 private:
  /// Frees the old workspace first, so that no more than the largest is ever held.
  void make_room(uint64_t bytes) {
    if (bytes <= workspace_.bytes()) return;
    workspace_ = cuda::DeviceMemory(api_, 0);
    workspace_ = cuda::DeviceMemory(api_, bytes);
  }

  const cuda::Api& api_;
  ConvFunctions cudnn_;
  LibraryObject handle_;
  cuda::DeviceMemory workspace_;  // shared by all steps: they run one after another on one stream
};

}  // namespace

Result<std::unique_ptr<ConvLibrary>> ConvLibrary::open(const cuda::Context& context) {
  const auto library = cuda::DynamicLibrary::open({"libcudnn.so.9"});
  if (!library) return fail("no cuDNN on this machine", library.error());
  return std::make_unique<Cudnn>(context, *library);
}

}  // namespace warpsmith::sandbox
