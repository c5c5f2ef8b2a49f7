// SPDX-License-Identifier: Apache-2.0
// The launcher on a GPU: results of kernels, refusals, and faults that must stay contained.
#include <gmock/gmock.h>

#include <algorithm>
#include <iostream>
#include <numeric>

#include "tests/sandbox/launch/gpu_candidate.hpp"

namespace warpsmith::sandbox {
namespace {

using testing::GpuCandidate;
using testing::GpuHost;
using ::testing::HasSubstr;
using testing::in_seconds;
using testing::signature_of;
using testing::tensor;

class CudaLauncherTest : public testing::OnGpu {};

constexpr const char* plain_kernel = R"cuda(
extern "C" __global__ void scale(const float* x, float* out, int n, float by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = by * x[i];
}
)cuda";

constexpr const char* kernels = R"cuda(
extern "C" __global__ void scale(const float* x, float* out, int n, float by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = by * x[i];
}
extern "C" __global__ void forever(float* out) {
  while (true) atomicAdd(out, 1.0f);
}
extern "C" __global__ void writes_input(float* x) { x[threadIdx.x] = 1; }
extern "C" __global__ void traps() { __trap(); }
extern "C" __global__ void nothing(float* out) {}
extern "C" __global__ void large_shared(const float* x, float* out, int n) {
  extern __shared__ float tile[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) tile[i] = x[i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = tile[n - 1 - i];
}
__device__ unsigned arrived;
extern "C" __global__ void together(const float* x, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(&arrived, 1);
    while (atomicAdd(&arrived, 0) < gridDim.x) {}
  }
  __syncthreads();
  if (i < n) out[i] = x[n - 1 - i];
}
__device__ float seen = 5;
static __device__ float kept[64];
extern "C" __global__ void remembers(float* out) {
  static __device__ int calls;
  out[0] = seen;
  out[1] = kept[3];
  out[2] = (float)calls;
  seen += 1;
  kept[3] += 1;
  calls += 1;
}
)cuda";

constexpr const char* map_kernel = R"cuda(
struct alignas(64) TensorMap { unsigned long long opaque[16]; };
__device__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void whole_cluster() {
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}
// Each block of a cluster of two loads one box of 8 x 32 and writes the other's, doubled.
extern "C" __global__ void boxes(const __grid_constant__ TensorMap map, float* out, int width) {
  __shared__ alignas(128) float box[8 * 32];
  __shared__ alignas(8) unsigned long long ready;
  const int column = blockIdx.x * 32, row = blockIdx.y * 8;
  const unsigned to = shared_address(box), bar = shared_address(&ready);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(bar));
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 1024;" :: "r"(bar));
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];"
                 :: "r"(to), "l"(&map), "r"(column), "r"(row), "r"(bar) : "memory");
  }
  __syncthreads();
  for (unsigned done = 0; done == 0;) {
    asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; "
                 "selp.u32 %0, 1, 0, p;}" : "=r"(done) : "r"(bar) : "memory");
  }
  whole_cluster();
  unsigned rank = 0, other = 0;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(other) : "r"(to), "r"(rank ^ 1));
  const int base = (blockIdx.x ^ 1) * 32;
  for (int i = threadIdx.x; i < 8 * 32; i += blockDim.x) {
    float value = 0;
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(other + 4 * i));
    out[(row + i / 32) * width + base + i % 32] = 2 * value;
  }
  whole_cluster();
}
)cuda";

TaskSignature vectors(int64_t count = 1000) {
  return signature_of(
      {tensor("x", TensorRole::input, {count}), tensor("out", TensorRole::output, {count})},
      {count});
}

std::string launch(const std::string& kernel, const std::string& args,
                   const std::string& rest = "grid = [\"ceildiv(d0, 256)\"]\nblock = [256]\n") {
  return "[[step]]\nlaunch = \"" + kernel + "\"\nargs = " + args + "\n" + rest;
}
const std::string scale_plan = launch("scale", R"(["x", "out", "d0", {f32 = 3.0}])");

std::vector<float> ramp(int64_t count, float first = 0) {
  std::vector<float> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), first);
  return values;
}

TEST_F(CudaLauncherTest, CarriesOutLaunchesOnEverySet) {
  GpuCandidate candidate(vectors(), scale_plan, kernels);
  ASSERT_FALSE(candidate.contestant().load(in_seconds(30)).fault);
  for (uint32_t call = 0; call < 6; ++call) {
    candidate.put(0, ramp(1000, static_cast<float>(call)), call % 2);
    const CallResult result = candidate.contestant().call(call % 2, in_seconds(5));
    ASSERT_FALSE(result.fault) << result.fault->detail;
    EXPECT_EQ(candidate.get<float>(1, call % 2)[999], 3 * (999 + static_cast<float>(call)));
    EXPECT_GT(result.device.count(), 0);
    EXPECT_LT(result.device, result.elapsed);
  }
}

TEST_F(CudaLauncherTest, TakesAnotherPlanOfTheSameCandidate) {
  GpuCandidate first(vectors(70), scale_plan, kernels);
  first.put(0, ramp(70));
  ASSERT_FALSE(first.once().fault);
  EXPECT_EQ(first.get<float>(1)[69], 207);
  const pid_t process = first.contestant().process().pid();
  ASSERT_FALSE(first.contestant().release(in_seconds(10)).fault);
  EXPECT_TRUE(first.contestant().call(0, in_seconds(5)).fault);
  GpuCandidate second(vectors(), launch("remembers", R"(["out"])", "grid = [1]\nblock = [1]\n"),
                      kernels, {}, gpu_alignment, std::move(first).launcher());
  EXPECT_EQ(second.contestant().process().pid(), process);
  ASSERT_FALSE(second.contestant().load(in_seconds(30)).fault);
  for (uint32_t call = 0; call < 2; ++call) {
    ASSERT_FALSE(second.contestant().call(call, in_seconds(5)).fault);
    EXPECT_EQ(second.get<float>(1, call)[0], 5);
    EXPECT_EQ(second.get<float>(1, call)[2], 0);
  }
}

TEST_F(CudaLauncherTest, ReleasesTheMemoriesWithThePlan) {
  const uint64_t before = GpuHost::get().context->memory().free;
  std::optional<WarmLauncher> launcher;
  {
    GpuCandidate large(vectors(int64_t{1} << 28U), scale_plan, kernels);
    ASSERT_FALSE(large.once().fault);
    ASSERT_FALSE(large.contestant().release(in_seconds(10)).fault);
    launcher = std::move(large).launcher();
  }
  const uint64_t held = before - GpuHost::get().context->memory().free;
  EXPECT_LT(held, 1ULL << 30U) << "4 GiB were shared; a context takes half of one";
}

TEST_F(CudaLauncherTest, RunsInAFullJailWhereCgroupsAreAvailable) {
  GpuCandidate candidate(vectors(), scale_plan, kernels);
  const auto& report = candidate.contestant().process().report();
  for (const auto& [primitive, in_force] : report) {
    std::cout << "  " << primitive << ": " << in_force << '\n';
  }
  std::vector<std::string> lacking;
  if (GpuHost::get().context->attribute(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS) != 0) {
    lacking.emplace_back("host_memory");
  }
  if (!report.at("memory").starts_with("cgroup")) lacking.emplace_back("memory");
  EXPECT_EQ(missing_primitives(report, JailKind::launch), lacking);
}

TEST_F(CudaLauncherTest, CarriesOutMemsetAndCopy) {
  GpuCandidate candidate(
      signature_of({tensor("x", TensorRole::input, {77}), tensor("a", TensorRole::output, {77}),
                    tensor("b", TensorRole::output, {5}, Dtype::i8)},
                   {77}),
      "[[step]]\ncopy = \"a\"\nfrom = \"x\"\n[[step]]\nmemset = \"b\"\nvalue = 9\n");
  candidate.put(0, ramp(77));
  const CallResult result = candidate.once();
  ASSERT_FALSE(result.fault) << result.fault->detail;
  EXPECT_EQ(candidate.get<float>(1), ramp(77));
  EXPECT_EQ(candidate.get<int8_t>(2), std::vector<int8_t>(5, 9));
}

TEST_F(CudaLauncherTest, GivesMoreSharedMemoryThanTheDefault) {
  constexpr int64_t count = 50'000;  // 200,000 bytes
  GpuCandidate candidate(vectors(count),
                         launch("large_shared", R"(["x", "out", "d0"])",
                                "grid = [1]\nblock = [1024]\nshared = \"4 * d0\"\n"),
                         kernels);
  candidate.put(0, ramp(count));
  const CallResult result = candidate.once();
  ASSERT_FALSE(result.fault) << result.fault->detail;
  EXPECT_EQ(candidate.get<float>(1)[0], 49'999);
}

TEST_F(CudaLauncherTest, KeepsCooperativeGridsTogether) {
  GpuCandidate candidate(vectors(16'384),
                         launch("together", R"(["x", "out", "d0"])",
                                "grid = [64]\nblock = [256]\ncooperative = true\n"),
                         kernels);
  candidate.put(0, ramp(16'384));
  const CallResult result = candidate.once();
  ASSERT_FALSE(result.fault) << result.fault->detail;
  EXPECT_EQ(candidate.get<float>(1)[0], 16'383);
}

TEST_F(CudaLauncherTest, PassesTensorMapsAndClusters) {
  GpuCandidate candidate(
      signature_of(
          {tensor("x", TensorRole::input, {64, 128}), tensor("out", TensorRole::output, {64, 128})},
          {64, 128}),
      launch("boxes",
             "[{tensor_map = \"x\", shape = [\"d1\", \"d0\"], strides = [\"4 * d1\"], box = [32, "
             "8]}, \"out\", \"d1\"]",
             "grid = [4, 8]\nblock = [128]\ncluster = [2]\n"),
      map_kernel);
  ASSERT_FALSE(candidate.contestant().load(in_seconds(30)).fault);
  for (uint32_t set = 0; set < 2; ++set) {
    const std::vector<float> x = ramp(int64_t{64} * 128, static_cast<float>(1000 * set));
    candidate.put(0, x, set);
    const CallResult result = candidate.contestant().call(set, in_seconds(5));
    ASSERT_FALSE(result.fault) << result.fault->detail;
    std::vector<float> doubled = x;
    for (float& value : doubled) value *= 2;
    EXPECT_EQ(candidate.get<float>(1, set), doubled);
  }
}

TEST_F(CudaLauncherTest, ResetsVariablesBeforeEveryCall) {
  GpuCandidate candidate(vectors(), launch("remembers", R"(["out"])", "grid = [1]\nblock = [1]\n"),
                         kernels);
  ASSERT_FALSE(candidate.contestant().load(in_seconds(30)).fault);
  for (int call = 0; call < 3; ++call) {
    const CallResult result = candidate.contestant().call(0, in_seconds(5));
    ASSERT_FALSE(result.fault) << result.fault->detail;
    const std::vector<float> out = candidate.get<float>(1);
    EXPECT_EQ((std::vector<float>(out.begin(), out.begin() + 3)), (std::vector<float>{5, 0, 0}));
  }
}

TEST_F(CudaLauncherTest, LeavesUnwrittenOutputsUnchanged) {
  GpuCandidate candidate(vectors(), launch("nothing", R"(["out"])"), kernels);
  candidate.put(1, ramp(1000));
  const CallResult result = candidate.once();
  ASSERT_FALSE(result.fault) << result.fault->detail;
  EXPECT_EQ(candidate.get<float>(1), ramp(1000));
}

TEST_F(CudaLauncherTest, RefusalsNameTheLineOfThePlan) {
  const auto refusal = [](const std::string& plan, PlanLimits limits = {}) {
    GpuCandidate candidate(vectors(), plan, kernels, limits);
    const CallResult loaded = candidate.contestant().load(in_seconds(30));
    return loaded.fault && loaded.fault->outcome == VerdictClass::launch_error
               ? loaded.fault->detail
               : "no refusal";
  };
  EXPECT_THAT(refusal(launch("large_shared", R"(["x", "out", "d0"])",
                             "grid = [1]\nblock = [32]\nshared = 300000\n"),
                      {.shared_bytes = 400'000}),
              HasSubstr("plan.toml:1:1: \"large_shared\": 300000 bytes of dynamic"));
  EXPECT_THAT(refusal(launch("together", R"(["x", "out", "d0"])",
                             "grid = [60000]\nblock = [256]\ncooperative = true\n")),
              HasSubstr("plan.toml:1:1: \"together\": a cooperative grid of 60000 blocks"));
  EXPECT_THAT(refusal(launch("scale", R"(["x", "out"])")),
              HasSubstr("plan.toml:1:1: \"scale\": takes 4 arguments, got 2"));
  EXPECT_THAT(refusal(launch("missing", R"(["out"])")), HasSubstr("plan.toml:1:1: missing"));
}

/// A size above every limit of plans causes the same error as other processes that use the GPU's
/// memory.
TEST_F(CudaLauncherTest, ReportsLackOfDeviceMemory) {
  constexpr int64_t terabyte = int64_t{1} << 40U;
  const std::string scratch =
      "[scratch.large]\ndtype = \"i8\"\nshape = [" + std::to_string(terabyte) + "]\n";
  GpuCandidate candidate(vectors(), scratch + scale_plan, kernels,
                         {.scratch_bytes = 2 * uint64_t{terabyte}});
  const CallResult loaded = candidate.contestant().load(in_seconds(30));
  ASSERT_TRUE(loaded.fault.has_value());
  EXPECT_EQ(loaded.fault->outcome, VerdictClass::out_of_memory) << loaded.fault->detail;
}

TEST_F(CudaLauncherTest, AFaultEndsOnlyItsLauncher) {
  GpuCandidate neighbour(vectors(), scale_plan, kernels);
  ASSERT_FALSE(neighbour.contestant().load(in_seconds(30)).fault);
  for (const char* plan : {"[[step]]\nlaunch = \"writes_input\"\nargs = [\"x\"]\ngrid = "
                           "[1]\nblock = [32]\n[[step]]\nmemset = \"out\"\nvalue = 0\n",
                           "[[step]]\nlaunch = \"traps\"\nargs = []\ngrid = [1]\nblock = "
                           "[1]\n[[step]]\nmemset = \"out\"\nvalue = 0\n"}) {
    GpuCandidate candidate(vectors(), plan, kernels);
    candidate.put(0, ramp(1000));
    const CallResult result = candidate.once();
    ASSERT_TRUE(result.fault) << plan;
    EXPECT_EQ(result.fault->outcome, VerdictClass::device_fault);
    EXPECT_THAT(result.fault->detail, HasSubstr("CUDA_ERROR_"));
    EXPECT_EQ(candidate.get<float>(0), ramp(1000));
    const CallResult after = candidate.contestant().call(0, in_seconds(5));
    EXPECT_TRUE(after.fault);
  }
  neighbour.put(0, ramp(1000));
  const CallResult result = neighbour.contestant().call(0, in_seconds(5));
  ASSERT_FALSE(result.fault) << result.fault->detail;
  EXPECT_EQ(neighbour.get<float>(1)[10], 30);
}

TEST_F(CudaLauncherTest, AnEndlessKernelTimesOutAndLeavesTheGpuUsable) {
  {
    GpuCandidate candidate(vectors(), launch("forever", R"(["out"])"), kernels);
    const CallResult result = candidate.once(1);
    ASSERT_TRUE(result.fault);
    EXPECT_EQ(result.fault->outcome, VerdictClass::timeout);
  }
  GpuCandidate next(vectors(), scale_plan, kernels);
  next.put(0, ramp(1000));
  const CallResult result = next.once();
  ASSERT_FALSE(result.fault) << result.fault->detail;
  EXPECT_EQ(next.get<float>(1)[10], 30);
}

/// Median times of 21 calls in microseconds, by the device's events and by our clock, less the
/// no-op's.
std::pair<double, double> medians(Contestant& contestant) {
  std::vector<double> device, clock;
  for (int i = 0; i < 21; ++i) {
    const CallResult result = contestant.call(static_cast<uint32_t>(i) % 2, in_seconds(10));
    if (result.fault) throw std::runtime_error(result.fault->detail);
    device.push_back(static_cast<double>((result.device - contestant.device_noop()).count()) / 1e3);
    clock.push_back(static_cast<double>((result.elapsed - contestant.noop()).count()) / 1e3);
  }
  std::ranges::sort(device);
  std::ranges::sort(clock);
  return {device[10], clock[10]};
}

TEST_F(CudaLauncherTest, EventsAgreeWithOurOwnClock) {
  // A futex wakes a waiter on another core late, and later the longer it slept.
  const CorePin pin{1};
  for (const char* source : {plain_kernel, kernels}) {  // without and with variables to reset
    for (const int64_t count : {int64_t{1} << 20, int64_t{1} << 24, int64_t{1} << 27}) {
      GpuCandidate candidate(vectors(count), scale_plan, source);
      candidate.put(0, ramp(count), 0);
      candidate.put(0, ramp(count), 1);
      ASSERT_FALSE(candidate.contestant().load(in_seconds(30)).fault);
      const auto [device, clock] = medians(candidate.contestant());
      std::cout << "  " << count << " elements: events " << device << " us, clock " << clock
                << " us; no-op " << candidate.contestant().device_noop().count() << " and "
                << candidate.contestant().noop().count() << " ns\n";
      EXPECT_NEAR(device, clock, 20 + 0.03 * clock);
      EXPECT_GT(device, 0);
    }
  }
}

}  // namespace
}  // namespace warpsmith::sandbox
