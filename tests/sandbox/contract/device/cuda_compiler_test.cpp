// SPDX-License-Identifier: Apache-2.0
// The CUDA compiler with the toolchain of this machine; needs no GPU.
#include "sandbox/contract/device/cuda_compiler.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/personality.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>

#include "runtime/environment.hpp"
#include "runtime/text.hpp"
#include "sandbox/bench/timing_agreement.hpp"
#include "sandbox/compile/cubin.hpp"
#include "sandbox/compile/nvrtc.hpp"
#include "sandbox/contract/device/device_candidate.hpp"
#include "tests/support/mutate.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::sandbox {
namespace {

using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;

class CudaCompilerTest : public testing::Test {
 protected:
  void SetUp() override {
    auto toolchain = find_cuda_toolchain(built_with_toolkit(), python_interpreter());
    if (!toolchain) GTEST_SKIP() << toolchain.error().message;
    options.sandbox.program = WARPSMITH_SANDBOX_PROGRAM;
    options.toolchain = *toolchain;
    options.sandbox.cache_dir = folder.path();
    auto opened = CudaCompiler::open(options, Deadline::after(seconds{150}));
    ASSERT_TRUE(opened.has_value()) << opened.error().message;
    compiler.emplace(std::move(*opened));
  }

  Compiled compile(const FileSet& files) {
    auto compiled = compiler->compile(files, Deadline::after(seconds{150}));
    if (!compiled) throw std::runtime_error(compiled.error().message);
    return std::move(*compiled);
  }
  Compiled compile(const std::string& text) { return compile(FileSet{{"kernels.cu", text}}); }

  test_support::TemporaryFolder folder;
  CudaCompilerOptions options;
  std::optional<CudaCompiler> compiler;
};

const char* const probe = R"cuda(
#include <cuda_fp16.h>
struct alignas(64) Map { char bytes[128]; };
extern "C" __global__ void __launch_bounds__(128)
scale(const float* x, float* y, int n, long long m, const __grid_constant__ Map map) {
  __shared__ float tile[256];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = x[i] + map.bytes[threadIdx.x & 127];
  __syncthreads();
  if (i < n) y[i] = __half2float(__float2half(tile[127 - threadIdx.x])) + (float)m;
}
extern "C" __global__ void other(int* p) { *p = 1; }
)cuda";

/// Files of precompiled headers.
std::vector<std::filesystem::path> precompiled_in(const std::filesystem::path& cache) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(cache / "precompiled")) {
    if (entry.path().extension() == ".pch") files.push_back(entry.path());
  }
  return files;
}

bool addresses_can_be_kept() {
  const int before = ::personality(0xffffffff);
  if (::personality(ADDR_NO_RANDOMIZE) < 0) return false;
  (void)::personality(static_cast<unsigned long>(before));
  return true;
}

/// A new text each time, with the same headers, which take 130 MB precompiled.
std::string with_headers(int number) {
  return "// number " + std::to_string(number) +
         "\n#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\n" +
         "extern \"C\" __global__ void k(float* x) { x[" + std::to_string(number) + "] = 1.f; }\n";
}

TEST_F(CudaCompilerTest, SharedHeadersArePrecompiled) {
  if (!addresses_can_be_kept()) GTEST_SKIP() << "the kernel places memory at random here";
  const Deadline deadline = Deadline::after(seconds{150});
  int number = 0;
  while (precompiled_in(options.sandbox.compiled_folder()).empty() && !deadline.passed()) {
    ASSERT_FALSE(compile(with_headers(++number)).failure);
  }
  EXPECT_GE(number, 2) << "a header is precompiled at its second use";
  ASSERT_EQ(precompiled_in(options.sandbox.compiled_folder()).size(), 1U);
  const Compiled quicker = compile(with_headers(++number));
  ASSERT_FALSE(quicker.failure) << quicker.text;
  EXPECT_TRUE(read_cubin(quicker.artefact)->kernels.contains("k"));
  EXPECT_EQ(precompiled_in(options.sandbox.compiled_folder()).size(), 1U)
      << "a header that did not fit would be removed";
}

/// For the compiler the second include does not count: it is in a comment, or after the text's end.
std::string with_one_header(int number, const std::string& between) {
  std::string text = with_headers(number);
  return text.insert(text.find("#include <cooperative_groups/"), between);
}

TEST_F(CudaCompilerTest, IncludesThatDoNotCountUseNoPrecompiledHeader) {
  if (!addresses_can_be_kept()) GTEST_SKIP() << "the kernel places memory at random here";
  const Deadline deadline = Deadline::after(seconds{150});
  int number = 0;
  while (precompiled_in(options.sandbox.compiled_folder()).empty() && !deadline.passed()) {
    ASSERT_FALSE(compile(with_headers(++number)).failure);
  }
  for (const std::string& between : {std::string("// \\\n"), std::string("//\0\n", 4)}) {
    for (int i = 0; i < 3; ++i) (void)compile(with_one_header(++number, between));
    EXPECT_EQ(precompiled_in(options.sandbox.compiled_folder()).size(), 1U) << between;
  }
}

TEST_F(CudaCompilerTest, ADamagedPrecompiledHeaderCostsOnlyTheTime) {
  if (!addresses_can_be_kept()) GTEST_SKIP() << "this kernel always randomises addresses";
  const Deadline deadline = Deadline::after(seconds{150});
  int number = 0;
  while (precompiled_in(options.sandbox.compiled_folder()).empty() && !deadline.passed()) {
    ASSERT_FALSE(compile(with_headers(++number)).failure);
  }
  const auto file = precompiled_in(options.sandbox.compiled_folder()).at(0);
  std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  const Compiled compiled = compile(with_headers(++number));
  EXPECT_FALSE(compiled.failure) << compiled.text;
  EXPECT_TRUE(precompiled_in(options.sandbox.compiled_folder()).empty());
}

TEST(CudaToolchainTest, AnUpdatedToolkitHasANewIdentity) {
  const test_support::TemporaryFolder folder;
  const CudaToolchain toolchain{
      .library_folder = folder.path(), .includes = {folder.path()}, .root = {}};
  const std::string before = identity_of(toolchain);
  EXPECT_EQ(identity_of(toolchain), before);
  std::ofstream(std::filesystem::path(folder.path()) / "cuda.h") << "#define CUDA_VERSION 13010\n";
  EXPECT_NE(identity_of(toolchain), before);
}

TEST_F(CudaCompilerTest, ReadsTheKernelsOfItsCubin) {
  const Compiled compiled = compile(probe);
  ASSERT_FALSE(compiled.failure) << compiled.text;
  const auto facts = read_cubin(compiled.artefact);
  ASSERT_TRUE(facts.has_value()) << facts.error().message;
  EXPECT_EQ(facts->architecture, 90U);
  ASSERT_EQ(facts->kernels.size(), 2U);
  const KernelFacts& scale = facts->kernels.at("scale");
  EXPECT_EQ(scale.max_threads, 128U);
  EXPECT_EQ(scale.shared_bytes, 1024U) << "only the tile";
  EXPECT_EQ(facts->kernels.at("other").shared_bytes, 0U);
  EXPECT_GT(scale.registers, 3U);
  ASSERT_EQ(scale.parameters.size(), 5U);
  const std::vector<uint32_t> sizes{8, 8, 4, 8, 128};
  for (size_t i = 0; i < sizes.size(); ++i) EXPECT_EQ(scale.parameters[i].bytes, sizes[i]) << i;
  EXPECT_EQ(scale.parameters[3].offset, 24U);
}

TEST_F(CudaCompilerTest, RepeatedSourceIsNotCompiledAgain) {
  EXPECT_FALSE(compile(probe).cached);
  const Compiled again = compile(probe);
  EXPECT_TRUE(again.cached);
  EXPECT_FALSE(again.artefact.empty());
}

/// NVRTC opens its own parts by name, and the loader searches only the toolkit's folder.
void open_parts_of_nvrtc(const std::string& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("libnvrtc-builtins")) (void)::dlopen(entry.path().c_str(), RTLD_NOW);
  }
}

TEST_F(CudaCompilerTest, DistinguishesItsOwnFailuresFromTheSources) {
  open_parts_of_nvrtc(options.toolchain.library_folder);
  const std::string path = options.toolchain.library_folder + "/libnvrtc.so.";
  const auto library = NvrtcLibrary::load({path + "13", path + "12"});
  ASSERT_TRUE(library.has_value()) << library.error().message;
  const CudaSource source{{{"k.cu", "int x"}}, "k.cu", {"--gpu-architecture=sm_90"}};
  const auto refused = library->compile(source);
  ASSERT_TRUE(refused.has_value()) << refused.error().message;
  EXPECT_FALSE(refused->compiled || refused->failed);
  const auto unable = library->compile({source.files, source.main, {"--no-such-option"}});
  ASSERT_TRUE(unable.has_value()) << unable.error().message;
  EXPECT_TRUE(unable->failed);
  EXPECT_THAT(unable->log, HasSubstr("NVRTC_ERROR_INVALID_OPTION"));
}

TEST_F(CudaCompilerTest, ErrorsNameTheCandidatesLines) {
  const Compiled compiled = compile("extern \"C\" __global__ void k(float* y) {\n  y[0] = z;\n}\n");
  EXPECT_EQ(compiled.failure, VerdictClass::compile_error);
  EXPECT_THAT(compiled.text, HasSubstr("kernels.cu:2: error: identifier \"z\" is undefined"));
  EXPECT_EQ(compile(FileSet{{"other.cu", probe}}).text, "solution/kernels.cu is missing");
  EXPECT_THAT(compile(std::string(300'000, ' ')).text, HasSubstr("more than 262144"));
  EXPECT_EQ(
      compile(probe + std::string("\0 { not compiled", 16)).text,
      "kernels.cu is no text: byte " + std::to_string(std::string(probe).size()) + " is zero");
}

TEST_F(CudaCompilerTest, FindsHeadersOfTheSubmissionAndNoneOfTheHost) {
  const Compiled with = compile(
      FileSet{{"kernels.cu",
               "#include \"parts/add.cuh\"\nextern \"C\" __global__ void k(int* p) { add(p); }"},
              {"parts/add.cuh", "__device__ void add(int* p) { *p += 1; }"}});
  EXPECT_FALSE(with.failure) << with.text;
  const Compiled host = compile("#include \"/etc/passwd\"\nextern \"C\" __global__ void k() {}");
  EXPECT_EQ(host.failure, VerdictClass::compile_error);
  EXPECT_THAT(host.text, HasSubstr("/etc/passwd"));
}

TEST_F(CudaCompilerTest, ForbiddenConstructsAreNamed) {
  const Compiled prints =
      compile("extern \"C\" __global__ void k(int* p) { if (*p == 3) printf(\"%d\", *p); }");
  EXPECT_EQ(prints.failure, VerdictClass::banned_construct);
  EXPECT_EQ(prints.text, "printf in a kernel");
  EXPECT_EQ(compile("__device__ void f() {}").failure, VerdictClass::launch_error);
  const Compiled large = compile(
      "__device__ char table[100 << 20];\n"
      "extern \"C\" __global__ void k(char* p) { *p = table[threadIdx.x]; table[3] = *p; }");
  EXPECT_THAT(large.text, HasSubstr("bytes of __device__ variables; at most 67108864"));
}

TEST_F(CudaCompilerTest, NamesThatNvccHasWithoutAnIncludeCompile) {
  std::string source;
  for (const char* use : {"*x = INFINITY;",
                          "*x = -NAN;",
                          "*x = HUGE_VALF;",
                          "*x = M_PI;",
                          "int a = INT_MAX;",
                          "unsigned a = UINT_MAX;",
                          "long long a = LLONG_MIN;",
                          "int a = CHAR_BIT;",
                          "int a = RAND_MAX;",
                          "int8_t a = 0;",
                          "int32_t a = 0;",
                          "int64_t a = 0;",
                          "size_t a = 0;",
                          "std::size_t a = 0;",
                          "ptrdiff_t a = 0;",
                          "std::nullptr_t a = nullptr;",
                          "uint a = 0;",
                          "ushort a = 0;",
                          "*x = std::exp(1.f);",
                          "*x = std::isnan(*x);",
                          "if (*x > 9) abort();",
                          "size_t a = offsetof(float4, y);",
                          "clock_t a = clock();",
                          "dim3 a;",
                          "uint4 a{};",
                          "*x = fmaxf(*x, 2);",
                          "*x = max(1, 2);",
                          "memcpy(x, x + 1, 4);",
                          "*x = abs(-1);"}) {
    source += "extern \"C\" __global__ void k" + std::to_string(source.size()) + "(float* x) { " +
              use + " }\n";
  }
  const Compiled compiled = compile(source);
  EXPECT_FALSE(compiled.failure) << compiled.text;
}

TEST_F(CudaCompilerTest, CommonHeadersOfTheCLibraryAreProvided) {
  const Compiled compiled = compile(
      "#include <cmath>\n#include <cstdint>\n#include <cfloat>\n#include <math.h>\n"
      "#include <cuda_fp16.h>\n"
      "extern \"C\" __global__ void k(float* x) { std::uint64_t i = 0; x[i] = FLT_MAX; }\n");
  EXPECT_FALSE(compiled.failure) << compiled.text;
  const Compiled wrong = compile("extern \"C\" __global__ void k(float* x) { *x = unknown_name; }");
  EXPECT_EQ(wrong.failure, VerdictClass::compile_error);
  EXPECT_THAT(wrong.text, AllOf(HasSubstr("kernels.cu:1"), HasSubstr("unknown_name")));
}

TEST_F(CudaCompilerTest, SourcesThatNeedTheHostsHeadersGoToNvcc) {
  if (options.toolchain.root.empty()) GTEST_SKIP() << "no nvcc when this was built";
  const Compiled compiled = compile(
      "#include <algorithm>\n#include <cub/block/block_reduce.cuh>\n"
      "extern \"C\" __global__ void k(const float* x, float* y) {\n"
      "  using Reduce = cub::BlockReduce<float, 128>;\n"
      "  __shared__ typename Reduce::TempStorage memory;\n"
      "  const float sum = Reduce(memory).Sum(x[threadIdx.x]);\n"
      "  if (threadIdx.x == 0) *y = sum;\n}\n");
  ASSERT_FALSE(compiled.failure) << compiled.text;
  EXPECT_TRUE(read_cubin(compiled.artefact)->kernels.contains("k"));
}

TEST_F(CudaCompilerTest, AHangingCompilerIsReplaced) {
  const std::string deep =
      "template <int n, long id> struct A {\n"
      "  static constexpr long v = A<n - 1, 2 * id>::v + A<n - 1, 2 * id + 1>::v;\n};\n"
      "template <long id> struct A<0, id> { static constexpr long v = id; };\n"
      "extern \"C\" __global__ void k(long* p) { *p = A<40, 1>::v; }\n";
  std::optional<VerdictClass> after = VerdictClass::timeout;
  // With more time where the machine is too slow for the honest source.
  for (options.sandbox.settings.compile_timeout = std::chrono::milliseconds{1500};
       after && options.sandbox.settings.compile_timeout < seconds{60};
       options.sandbox.settings.compile_timeout *= 4) {
    auto opened = CudaCompiler::open(options, Deadline::after(seconds{150}));
    ASSERT_TRUE(opened.has_value()) << opened.error().message;
    compiler.emplace(std::move(*opened));
    const Compiled hung = compile(deep);
    EXPECT_EQ(hung.failure, VerdictClass::timeout) << hung.text;
    EXPECT_EQ(hung.text, "compiling took too long: it did not end within " +
                             duration_text(options.sandbox.settings.compile_timeout));
    after = compile(probe).failure;
  }
  EXPECT_FALSE(after);
}

TEST_F(CudaCompilerTest, NamesVariablesOfDeviceAndConstantMemory) {
  const Compiled compiled = compile(
      "__device__ int counter;\n__device__ float start = 2;\n__constant__ float fixed[4];\n"
      "extern \"C\" __global__ void k(float* p) {\n  static __device__ int calls;\n"
      "  __shared__ float tile[32];\n  tile[threadIdx.x] = p[1];\n  __syncthreads();\n"
      "  p[0] = counter++ + start++ + fixed[1] + calls++ + tile[3];\n}\n");
  ASSERT_FALSE(compiled.failure) << compiled.text;
  const auto facts = read_cubin(compiled.artefact);
  ASSERT_TRUE(facts.has_value()) << facts.error().message;
  EXPECT_EQ(facts->variables.size(), 4U);
  for (const char* name : {"counter", "start", "fixed"}) {
    EXPECT_EQ(std::ranges::count(facts->variables, name), 1) << name;
  }
}

TEST_F(CudaCompilerTest, DamagedCubinsAreReadOrRefused) {
  const std::string good = compile(probe).artefact;
  RandomStream random(7, "cubin");
  int readable = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = good;
    for (uint64_t edits = 1 + random.below(8); edits > 0; --edits) {
      bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
    }
    if (random.below(4) == 0) bytes.resize(random.below(bytes.size()));
    readable += read_cubin(bytes).has_value() ? 1 : 0;
  }
  EXPECT_GT(readable, 10);
}

TEST_F(CudaCompilerTest, RefusesTooMuchLocalMemory) {
  const auto holding = [](const std::string& bytes) {
    return "extern \"C\" __global__ void deep(char* y, int n) {\n"
           "  volatile char held[" +
           bytes +
           "];\n"
           "  held[n % " +
           bytes + "] = 1;\n  *y = held[(n + 1) % " + bytes + "];\n}\n";
  };
  EXPECT_FALSE(compile(holding("16000")).failure);
  const Compiled refused = compile(holding("400000"));
  EXPECT_EQ(refused.failure, VerdictClass::banned_construct);
  EXPECT_THAT(refused.text, HasSubstr("bytes of local memory in each thread of deep"));
}

/// The children of a process, as the kernel lists them.
std::vector<pid_t> children_of(const std::string& process) {
  std::vector<pid_t> children;
  for (const auto& task : std::filesystem::directory_iterator("/proc/" + process + "/task")) {
    std::ifstream list(task.path() / "children");
    for (pid_t child = 0; list >> child;) children.push_back(child);
  }
  return children;
}

TEST_F(CudaCompilerTest, AKilledWorkerIsReplaced) {
  ASSERT_FALSE(compile(probe).failure);  // another worker waits, warm or nearly so
  int killed = 0;
  for (const pid_t monitor : children_of("self")) {
    for (const pid_t jailed : children_of(std::to_string(monitor))) {
      killed += ::kill(jailed, SIGKILL) == 0 ? 1 : 0;
    }
  }
  ASSERT_GT(killed, 0);
  const Compiled after = compile(std::string(probe) + "// new to the cache\n");
  EXPECT_FALSE(after.failure) << after.text;
}

TEST_F(CudaCompilerTest, TheTimingKernelsFitTheirPlans) {
  for (const std::string& name : timing_kernel_names()) {
    const FileSet files = timing_kernel(name, 1000);
    const auto plan = device_plan(files);
    ASSERT_TRUE(plan) << plan.error().text;
    Compiled compiled = compile(files);
    ASSERT_FALSE(compiled.failure) << name << ": " << compiled.text;
    const auto candidate = device_candidate(*plan, std::move(compiled), timing_signature(),
                                            PrecisionLane::fp32_strict);
    EXPECT_TRUE(candidate) << name << ": " << candidate.error().text;
  }
}

}  // namespace
}  // namespace warpsmith::sandbox
