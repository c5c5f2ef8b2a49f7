// SPDX-License-Identifier: Apache-2.0
// A bench on the first GPU, with its memories mapped a second time as in other processes.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/cuda/context.hpp"
#include "sandbox/judge/gpu/gpu_bench.hpp"

namespace warpsmith::sandbox::test {

/// The memory behind a descriptor.
class DeviceView {
 public:
  DeviceView(const cuda::Context& context, int fd, uint64_t bytes)
      : context_(&context),
        memory_(cuda::VirtualMemory::import(context, fd, bytes, cuda::Access::read_write)) {}

  uint64_t bytes() const { return memory_.bytes(); }

  template <class T = std::byte>
  std::vector<T> read(uint64_t offset, size_t count) const {
    std::vector<T> values(count);
    if (count == 0) return values;
    const cuda::Api& api = context_->api();
    cuda::check(api, api.cuMemcpyDtoH(values.data(), memory_.address() + offset, count * sizeof(T)),
                "cuMemcpyDtoH");
    return values;
  }
  void write(uint64_t offset, std::span<const std::byte> bytes) const {
    if (bytes.empty()) return;
    const cuda::Api& api = context_->api();
    cuda::check(api, api.cuMemcpyHtoD(memory_.address() + offset, bytes.data(), bytes.size()),
                "cuMemcpyHtoD");
    context_->synchronize();
  }
  template <class T>
  void write(uint64_t offset, const std::vector<T>& values) const {
    write(offset, std::as_bytes(std::span{values}));
  }
  void clear(unsigned char value = 0) const {
    const cuda::Api& api = context_->api();
    cuda::check(api, api.cuMemsetD8Async(memory_.address(), value, memory_.bytes(), nullptr),
                "cuMemsetD8Async");
    context_->synchronize();
  }

 private:
  const cuda::Context* context_;
  cuda::VirtualMemory memory_;
};

/// Skips, with the reason, if there is no GPU.
class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto context = cuda::Context::open(0);
    const bool lacking = !context && context.error().code == ErrorCode::unsupported;
    if (lacking) GTEST_SKIP() << context.error().message;
    ASSERT_TRUE(context.has_value()) << context.error().message;
    context_.emplace(std::move(*context));
    auto verifier = GpuVerifier::open(0);
    ASSERT_TRUE(verifier.has_value()) << verifier.error().message;
    verifier_ = std::move(*verifier);
  }

  std::unique_ptr<GpuBench> bench_of(const TaskSignature& signature, GpuBenchMemory& memory) {
    auto bench = GpuBench::create(verifier_, signature, memory);
    if (!bench) throw std::runtime_error(bench.error().message);
    return std::move(*bench);
  }
  std::unique_ptr<GpuBench> bench_of(const TaskSignature& signature) {
    GpuBenchMemory own;
    return bench_of(signature, own);
  }

  DeviceView inputs_of(const GpuBench& bench) const {
    const CandidateMemory memory = bench.candidate_memory();
    return {*context_, memory.inputs, memory.input_bytes};
  }
  DeviceView candidate_of(const GpuBench& bench) const {
    const CandidateMemory memory = bench.candidate_memory();
    return {*context_, memory.outputs, memory.output_bytes};
  }
  DeviceView worker_of(const GpuBench& bench) const { return session_view(bench, 1); }
  DeviceView result_of(const GpuBench& bench) const { return session_view(bench, 2); }

  std::optional<cuda::Context> context_;
  std::shared_ptr<GpuVerifier> verifier_;

 private:
  DeviceView session_view(const GpuBench& bench, size_t which) const {
    const SessionMemory memory = bench.session_memory();
    return {*context_, memory.descriptors.at(which), memory.bytes.at(which)};
  }
};

/// The start of a tensor of a set in its memory.
inline uint64_t place_of(const Bench& bench, uint32_t set, size_t tensor) {
  const BufferLayout& layout = bench.layout();
  const BufferSlot& slot = layout.slots.at(tensor);
  return set * (slot.output ? layout.output_stride : layout.input_stride) + slot.offset;
}

inline TensorSpec tensor_of(TensorRole role, Dtype dtype, std::vector<int64_t> shape) {
  return {.name = "t", .role = role, .dtype = dtype, .shape = std::move(shape)};
}

inline constexpr StreamKey test_key{9, 8, 7, 6, 5};

}  // namespace warpsmith::sandbox::test
