// SPDX-License-Identifier: Apache-2.0
// A candidate of contract `device` on GPU 0 with memories like the verifier's. Needs the toolkit to
// build; tests skip if there is no GPU.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/cuda/context.hpp"
#include "runtime/environment.hpp"
#include "sandbox/contract/device/cuda_compiler.hpp"
#include "sandbox/contract/device/device_launchers.hpp"
#include "tests/sandbox/launch/plans.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::sandbox::testing {

inline Deadline in_seconds(int seconds) {
  return Deadline::after(std::chrono::seconds{seconds});
}

/// CMake sets the macro; the environment variable overrides it for a copy elsewhere.
inline std::string launcher_program() {
  const char* other = std::getenv("WARPSMITH_SANDBOX_PROGRAM");  // NOLINT(concurrency-mt-unsafe)
  return other != nullptr ? other : WARPSMITH_SANDBOX_PROGRAM;
}

/// The GPU and the compiler for the whole program, or the reason why they are missing.
struct GpuHost {
  std::optional<cuda::Context> context;
  std::optional<CudaCompiler> compiler;
  std::optional<LauncherPool> pool;
  std::string lacking;

  static GpuHost& get() {
    static GpuHost host;
    return host;
  }

 private:
  GpuHost() {
    const auto ready = open();
    if (ready) return;
    if (ready.error().code != ErrorCode::unsupported)
      throw std::runtime_error(ready.error().message);
    lacking = ready.error().message;
  }
  Result<void> open() {
    auto access = find_gpu_access(0, built_with_toolkit(), python_interpreter());
    if (!access) return tl::unexpected(access.error());
    auto opened = cuda::Context::open(0);
    if (!opened) return tl::unexpected(opened.error());
    context.emplace(std::move(*opened));
    pool.emplace(LauncherOptions{.program = launcher_program(), .gpu = *access});
    const auto toolchain = find_cuda_toolchain(built_with_toolkit(), python_interpreter());
    if (!toolchain) return tl::unexpected(toolchain.error());
    auto made = CudaCompiler::open(
        {{.program = launcher_program(), .cache_dir = folder_.path()}, *toolchain}, in_seconds(60));
    if (!made) return tl::unexpected(made.error());
    compiler.emplace(std::move(*made));
    return {};
  }
  test_support::TemporaryFolder folder_;
};

class GpuCandidate {
 public:
  GpuCandidate(const TaskSignature& signature, const std::string& text,
               const std::string& source = "", const PlanLimits& limits = {},
               uint64_t alignment = gpu_alignment, std::optional<WarmLauncher> from = {})
      : plan_(bound_to(signature, text, limits)),
        layout_(make_layout(signature, 2, alignment)),
        inputs_(cuda::VirtualMemory::create(context(), layout_.input_total())),
        outputs_(cuda::VirtualMemory::create(context(), layout_.output_total())) {
    if (!source.empty()) compile(source);
    const UniqueFd in = inputs_.export_descriptor(), out = outputs_.export_descriptor();
    DeviceContestantSpec spec{.plan = plan_, .artefact = cubin_, .layout = layout_};
    spec.inputs_fd = in.get();
    spec.outputs_fd = out.get();
    spec.input_bytes = inputs_.bytes();
    spec.output_bytes = outputs_.bytes();
    auto started = from ? hand_over(std::move(*from), spec, in_seconds(30))
                        : start_device_contestant(*GpuHost::get().pool, spec, in_seconds(30));
    if (!started) throw std::runtime_error(started.error().message);
    launcher_.emplace(std::move(*started));
  }

  Contestant& contestant() { return launcher_->contestant; }
  /// The launcher after it released its plan. Call no other member afterwards.
  WarmLauncher launcher() && { return std::move(*launcher_); }
  const BoundPlan& plan() const { return plan_; }
  const BufferLayout& layout() const { return layout_; }

  template <class T>
  void put(size_t tensor, const std::vector<T>& values, uint32_t set = 0) {
    const auto& api = context().api();
    cuda::check(api, api.cuMemcpyHtoD(address(tensor, set), values.data(), bytes(tensor)), "put");
  }
  template <class T>
  std::vector<T> get(size_t tensor, uint32_t set = 0) const {
    std::vector<T> values(bytes(tensor) / sizeof(T));
    const auto& api = context().api();
    cuda::check(api, api.cuMemcpyDtoH(values.data(), address(tensor, set), bytes(tensor)), "get");
    return values;
  }

  /// Loads, then calls on set 0.
  CallResult once(int seconds = 20) {
    const CallResult loaded = contestant().load(in_seconds(30));
    return loaded.fault ? loaded : contestant().call(0, in_seconds(seconds));
  }

 private:
  static const cuda::Context& context() { return *GpuHost::get().context; }
  uint64_t bytes(size_t tensor) const { return layout_.slots[tensor].bytes; }
  CUdeviceptr address(size_t tensor, uint32_t set) const {
    const BufferSlot& slot = layout_.slots[tensor];
    const auto& memory = slot.output ? outputs_ : inputs_;
    return memory.address() + set * (slot.output ? layout_.output_stride : layout_.input_stride) +
           slot.offset;
  }
  void compile(const std::string& source) {
    const auto made = GpuHost::get().compiler->compile({{"kernels.cu", source}}, in_seconds(60));
    if (!made) throw std::runtime_error(made.error().message);
    if (made->failure) throw std::runtime_error(made->text);
    cubin_ = made->artefact;
  }

  BoundPlan plan_;
  BufferLayout layout_;
  cuda::VirtualMemory inputs_, outputs_;
  std::string cubin_;
  std::optional<WarmLauncher> launcher_;
};

class OnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    const GpuHost& host = GpuHost::get();
    if (!host.lacking.empty()) GTEST_SKIP() << host.lacking;
  }
};

}  // namespace warpsmith::sandbox::testing
