// SPDX-License-Identifier: Apache-2.0
#include "sandbox/bench/timing_kernels.hpp"

#include <map>

namespace warpsmith::sandbox {
namespace {

constexpr int64_t elements = int64_t{16} << 20;  // a power of two: kernels mask by it

constexpr const char* head =
    "extern \"C\" __global__ void timed(const float* x, float* y, long long n,\n"
    "                                 long long amount) {\n"
    "  const long long last = n - 1;\n"
    "  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;\n"
    "  const long long all = gridDim.x * (long long)blockDim.x;\n";

// i: number of the thread; all: number of threads. Indices wrap around both buffers.
const std::map<std::string, std::string> bodies{
    {"loop",
     "  float value = x[i & last];\n"
     "  for (long long step = 0; step < amount; ++step) value = value * 0.999f + 0.5f;\n"
     "  y[i & last] = value;\n"},
    {"copy", "  for (long long at = i; at < amount; at += all) y[at & last] = x[at & last];\n"},
    {"strided",
     "  float sum = 0;\n"
     "  for (long long at = i; at < amount; at += all) sum += x[at * 33 & last];\n"
     "  y[i & last] = sum;\n"}};

// This kernel includes a header with device variables, which are reset before each call.
constexpr const char* with_variables = "strided";

}  // namespace

std::vector<std::string> timing_kernel_names() {
  std::vector<std::string> names;
  names.reserve(bodies.size());
  for (const auto& [name, body] : bodies) names.push_back(name);
  return names;
}

TaskSignature timing_signature() {
  TaskSignature signature;
  signature.tensors = {{"x", TensorRole::input, Dtype::f32, {elements}, {"d0"}},
                       {"y", TensorRole::output, Dtype::f32, {elements}, {"d0"}}};
  signature.dim_names = {"d0"};
  signature.dims = {elements};
  return signature;
}

FileSet timing_kernel(const std::string& name, int64_t amount) {
  const std::string include =
      name == with_variables ? "#include <cooperative_groups/reduce.h>\n" : "";
  return {{"kernels.cu", include + head + bodies.at(name) + "}\n"},
          {"plan.toml",
           "[[step]]\nlaunch = \"timed\"\ngrid = [1056]\nblock = [256]\n"
           "args = [\"x\", \"y\", \"d0\", \"" +
               std::to_string(amount) + "\"]\n"}};
}

}  // namespace warpsmith::sandbox
