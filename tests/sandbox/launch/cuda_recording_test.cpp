// SPDX-License-Identifier: Apache-2.0
// Records a plan on a GPU: expects its own steps with their own times and counters, and nothing
// that the launcher does around them.
#include <gmock/gmock.h>

#include <algorithm>

#include "runtime/cuda/canary.hpp"
#include "runtime/cuda/counter_session.hpp"
#include "runtime/cuda/cupti.hpp"
#include "sandbox/contract/device/device_launchers.hpp"
#include "tests/sandbox/launch/gpu_candidate.hpp"

namespace warpsmith::sandbox {
namespace {

using cuda::RecordKind;
using testing::GpuHost;
using testing::in_seconds;
using testing::tensor;

class CudaRecordingTest : public testing::OnGpu {};

constexpr const char* kernels = R"cuda(
__device__ int calls;
extern "C" __global__ void scale(const float* x, float* out, int n) {
  extern __shared__ float row[];
  __shared__ float fixed[8];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) row[threadIdx.x] = x[i];
  if (threadIdx.x < 8) fixed[threadIdx.x] = 3;
  __syncthreads();
  if (i < n) out[i] = fixed[i % 8] * row[threadIdx.x];
  if (i == 0) ++calls;
}
extern "C" __global__ void waits(float* out) {
  for (int i = 0; i < 200; ++i) __nanosleep(1000);
  if (threadIdx.x == 0) out[0] += 1;
}
)cuda";

// The first step takes tens of microseconds, each of the others a few at most.
constexpr int64_t many = 20'000'000, few = 50'000;
constexpr const char* steps =
    "[[step]]\nmemset = \"out\"\nvalue = 0\n"
    "[[step]]\nlaunch = \"scale\"\ngrid = [\"ceildiv(d0, 64)\"]\nblock = [64]\nshared = 256\n"
    "args = [\"x\", \"out\", \"d0\"]\n"
    "[[step]]\nlaunch = \"waits\"\ngrid = [1]\nblock = [32]\nargs = [\"out\"]\n"
    "[[step]]\ncopy = \"same\"\nfrom = \"y\"\n";

OrFailure<CallKernels> recorded() {
  GpuHost& host = GpuHost::get();
  const TaskSignature signature = testing::signature_of(
      {tensor("x", TensorRole::input, {few}), tensor("y", TensorRole::input, {few}),
       tensor("out", TensorRole::output, {many}), tensor("same", TensorRole::output, {few})},
      {few});
  const BoundPlan plan = testing::bound_to(signature, steps);
  const auto made = host.compiler->compile({{"kernels.cu", kernels}}, in_seconds(60));
  if (!made) return tl::unexpected(made.error());
  if (made->failure) return fail(ErrorCode::invalid_config, made->text);
  const BufferLayout layout = make_layout(signature, 2, gpu_alignment);
  const auto inputs = cuda::VirtualMemory::create(*host.context, layout.input_total());
  const auto outputs = cuda::VirtualMemory::create(*host.context, layout.output_total());
  const UniqueFd in = inputs.export_descriptor(), out = outputs.export_descriptor();
  const DeviceContestantSpec spec{.plan = plan,
                                  .artefact = made->artefact,
                                  .layout = layout,
                                  .inputs_fd = in.get(),
                                  .outputs_fd = out.get(),
                                  .input_bytes = inputs.bytes(),
                                  .output_bytes = outputs.bytes()};
  return record_device_kernels(host.pool->options(), spec, in_seconds(60));
}

void expect_counters(const CallKernels& party) {
  const ProfiledKernel &scale = party.kernels[1], &waits = party.kernels[2];
  if (!party.uncounted.empty()) {
    // If counters work outside a jail, they must work in it.
    const auto cupti = cuda::load_cupti();
    ASSERT_FALSE(cupti && cuda::CounterSession::open(*cupti, 1)) << party.uncounted;
    GTEST_SKIP() << party.uncounted;
  }
  ASSERT_TRUE(scale.counters && waits.counters);
  EXPECT_FALSE(party.kernels[0].counters || party.kernels[3].counters);
  EXPECT_EQ(scale.counters->flops, few);  // one product each
  EXPECT_EQ(waits.counters->flops, 1);
  EXPECT_EQ(scale.counters->tensor_flops, 0);
  EXPECT_GT(scale.counters->dram_read_bytes, 3.6 * few);
  EXPECT_LT(scale.counters->dram_read_bytes, 12.0 * few);
  EXPECT_GT(scale.counters->warps_active, 0);
  // One warp of the 64 that a multiprocessor can hold.
  EXPECT_NEAR(waits.counters->warps_active, 1.0 / 64, 0.002);
}

TEST_F(CudaRecordingTest, HoldsOnlyTheStepsOfOneCall) {
  const auto party = recorded();
  if (!party && party.error().code == ErrorCode::unsupported) {
    // If recording works outside a jail, it must work in it.
    ASSERT_FALSE(cuda::run_canary(0).has_value()) << party.error().message;
    GTEST_SKIP() << party.error().message;
  }
  ASSERT_TRUE(party) << party.error().message;
  const std::vector<ProfiledKernel>& all = party->kernels;
  ASSERT_EQ(all.size(), 4U);
  for (const ProfiledKernel& one : all) {
    std::printf("%-8s at %.3f us for %.3f us, %llu bytes\n", one.name.c_str(), one.start_us,
                one.time_us, static_cast<unsigned long long>(one.bytes.value_or(0)));
  }
  EXPECT_EQ(all[0].kind, RecordKind::fill);
  EXPECT_EQ(all[0].bytes, 4U * many);
  const ProfiledKernel& scale = all[1];
  EXPECT_EQ(scale.name, "scale");
  EXPECT_EQ(scale.grid, (std::array<uint32_t, 3>{782, 1, 1}));
  EXPECT_EQ(scale.block, (std::array<uint32_t, 3>{64, 1, 1}));
  EXPECT_EQ(scale.static_shared_bytes, 32U);
  EXPECT_EQ(scale.shared_bytes, 288U);
  EXPECT_GT(scale.registers, 0U);
  const ProfiledKernel &waits = all[2], &copy = all[3];
  EXPECT_EQ(waits.name, "waits");
  EXPECT_EQ(copy.kind, RecordKind::copy);
  EXPECT_EQ(copy.bytes, 4U * few);
  for (const ProfiledKernel& one : all) {
    EXPECT_GT(one.time_us, 0) << one.name;
    EXPECT_LT(one.time_us, 1000) << one.name;
  }
  // Each step has its own time rather than a neighbour's.
  EXPECT_GT(all[0].time_us, 3 * std::max(scale.time_us, copy.time_us));
  EXPECT_GT(waits.time_us, 3 * all[0].time_us);
  EXPECT_TRUE(std::ranges::is_sorted(all, {}, &ProfiledKernel::start_us));
  expect_counters(*party);
}

}  // namespace
}  // namespace warpsmith::sandbox
