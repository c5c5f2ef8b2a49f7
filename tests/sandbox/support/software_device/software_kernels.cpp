// SPDX-License-Identifier: Apache-2.0
#include "tests/sandbox/support/software_device/software_kernels.hpp"

#include <algorithm>
#include <cctype>

#include "sandbox/contract/cpu/cpu_contract.hpp"

namespace warpsmith::sandbox::testing {
namespace {

constexpr const char* included_name = "kernels.inc";

// The error attribute takes effect only where the function is called.
constexpr const char* emulation = R"header(#include "warpsmith.h"
#include <utility>
#define __global__
#define __device__
#define __host__
#define __constant__
#define __shared__ static
#define __forceinline__ inline
#define __restrict__ __restrict
#define __grid_constant__
#define __launch_bounds__(...)
struct dim3 { unsigned x = 1, y = 1, z = 1; };
static dim3 threadIdx, blockIdx, blockDim, gridDim;
struct float2 { float x, y; };
struct alignas(16) float4 { float x, y, z, w; };
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
template <class T> inline T min(T a, T b) { return a < b ? a : b; }
template <class T> inline T max(T a, T b) { return a > b ? a : b; }
template <class T> inline T __ldg(const T* p) { return *p; }
template <class T> inline T atomicAdd(T* p, T v) { T old = *p; *p = old + v; return old; }
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline float __expf(float x) { return expf(x); }
inline unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
inline float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
#define WARPSMITH_TOGETHER(name) template <class... A> \
  __attribute__((error("the software device has no " #name ": its threads run one after another"))) \
  int name(A...);
WARPSMITH_TOGETHER(__syncthreads) WARPSMITH_TOGETHER(__syncwarp)
WARPSMITH_TOGETHER(__shfl_sync) WARPSMITH_TOGETHER(__shfl_xor_sync)
WARPSMITH_TOGETHER(__shfl_down_sync) WARPSMITH_TOGETHER(__shfl_up_sync)
WARPSMITH_TOGETHER(__ballot_sync) WARPSMITH_TOGETHER(__any_sync) WARPSMITH_TOGETHER(__all_sync)
#include "kernels.inc"
#line 1 "launches"
namespace warpsmith_software {
struct Call {
  int64_t kernel, count, grid[3], block[3];
  const void* const* arguments;
  const int64_t* bytes;
  int64_t wrong, expected;
};
template <class... P>
bool fits(Call& call) {
  const int64_t sizes[] = {(int64_t)sizeof(P)..., 0};
  call.wrong = call.count == (int64_t)sizeof...(P) ? 0 : -1;
  call.expected = (int64_t)sizeof...(P);
  for (int64_t i = 0; call.wrong == 0 && i < call.count; ++i) {
    const int64_t has = call.bytes[i], wants = sizes[i];
    if (has == 0 ? wants == 4 || wants == 8 : has == wants) continue;
    call.wrong = i + 1;
    call.expected = wants;
  }
  return call.wrong == 0;
}
template <class... P, size_t... i>
void block_of(void (*kernel)(P...), const Call& call, std::index_sequence<i...>) {
  for (int64_t z = 0; z < call.block[2]; ++z)
    for (int64_t y = 0; y < call.block[1]; ++y)
      for (int64_t x = 0; x < call.block[0]; ++x) {
        threadIdx = {(unsigned)x, (unsigned)y, (unsigned)z};
        kernel(*(const P*)call.arguments[i]...);
      }
}
template <class... P>
void launch(void (*kernel)(P...), Call& call) {
  if (!fits<P...>(call)) return;
  gridDim = {(unsigned)call.grid[0], (unsigned)call.grid[1], (unsigned)call.grid[2]};
  blockDim = {(unsigned)call.block[0], (unsigned)call.block[1], (unsigned)call.block[2]};
  for (int64_t z = 0; z < call.grid[2]; ++z)
    for (int64_t y = 0; y < call.grid[1]; ++y)
      for (int64_t x = 0; x < call.grid[0]; ++x) {
        blockIdx = {(unsigned)x, (unsigned)y, (unsigned)z};
        block_of(kernel, call, std::index_sequence_for<P...>{});
      }
}
}  // namespace warpsmith_software
extern "C" void solve(const void* const*, void* const* out, const int64_t*) {
  auto& call = *static_cast<warpsmith_software::Call*>(out[0]);
  switch (call.kernel) {
)header";

std::string dispatch(const std::vector<std::string>& kernels) {
  std::string text;
  for (size_t i = 0; i < kernels.size(); ++i) {
    text += "    case " + std::to_string(i) + ": warpsmith_software::launch(&::" + kernels[i] +
            ", call); break;\n";
  }
  return text + "    default: call.wrong = -1;\n  }\n}\n";
}

/// Names become part of the compiled text, so only C++ identifiers are accepted.
bool is_name(const std::string& name) {
  const auto letter = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
         std::ranges::all_of(name, letter);
}

}  // namespace

std::vector<std::string> kernels_of(const BoundPlan& plan) {
  std::vector<std::string> names;
  for (const BoundStep& step : plan.steps) {
    const auto* launch = std::get_if<BoundLaunch>(&step.what);
    if (launch == nullptr || std::ranges::find(names, launch->kernel) != names.end()) continue;
    names.push_back(launch->kernel);
  }
  return names;
}

Result<Compiled> compile_software_kernels(CpuCompiler& compiler, const FileSet& submitted,
                                          const BoundPlan& plan, Deadline deadline) {
  const std::vector<std::string> kernels = kernels_of(plan);
  const auto odd = std::ranges::find_if_not(kernels, is_name);
  if (odd != kernels.end()) {
    return failed_compiling(VerdictClass::launch_error, "\"" + *odd + "\" is no kernel's name");
  }
  FileSet files = submitted;
  files.erase(cpu_source_file);
  const auto source = submitted.find(device_source_file);
  const std::string text = source == submitted.end() ? "" : source->second;
  files[included_name] = std::string("#line 1 \"") + device_source_file + "\"\n" + text + "\n";
  files[cpu_source_file] = emulation + dispatch(kernels);
  return compiler.compile(files, deadline);
}

}  // namespace warpsmith::sandbox::testing
