// SPDX-License-Identifier: Apache-2.0
// Contract `host` on a GPU: the example passes, and a resident kernel gains nothing.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "runtime/cuda/canary.hpp"
#include "sandbox/profile/profile.hpp"
#include "tests/sandbox/support/host_fixture.hpp"

namespace warpsmith::sandbox {
namespace {

using ::testing::AnyOf;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::Not;

class EvaluatorHostGpuTest : public test::HostJudged {
 protected:
  static void SetUpTestSuite() { open_on_gpu(); }
  static std::string task() { return test::example_text("host_workspace/reference.py"); }
  static Verdict example(const std::string& file, const std::string& from, const std::string& to,
                         Request want = Request::verify) {
    FileSet files = test::example_workspace();
    if (!from.empty()) files[file] = test::with(files[file], from, to);
    return verdict(std::move(files), want, task());
  }
  static void print(const char* what, const Verdict& v) {
    std::printf("%s: %s, trust %s\n  %s\n", what, v.feedback.c_str(),
                std::string(to_string(v.trust)).c_str(), v.evidence.substr(0, 2500).c_str());
    for (const auto& [name, ms] : v.phase_ms) std::printf("  %s %.0f ms", name.c_str(), ms);
    for (const auto& [name, held] : v.jail) std::printf("\n  %s: %s", name.c_str(), held.c_str());
    std::puts("");
  }
};

TEST_F(EvaluatorHostGpuTest, ReportsItsKernelsAndWhichAreItsOwn) {
  const Verdict v = example("", "", "", Request::profile);
  print("profile", v);
  ASSERT_EQ(v.outcome, VerdictClass::passed) << v.feedback;
  const auto text = profile_of_evidence(v.evidence);
  ASSERT_TRUE(text);
  const auto candidate = nlohmann::json::parse(*text)["candidate"];
  EXPECT_EQ(candidate["told_by"], "candidate");
  if (candidate["kernels"].empty()) {
    // A profiler that records outside a jail must record in it.
    ASSERT_FALSE(cuda::run_canary(0).has_value()) << candidate["reason"];
    GTEST_SKIP() << candidate["reason"];
  }
  EXPECT_GT(candidate["own_share"], 0.5);
  EXPECT_THAT(candidate.dump(), HasSubstr("gated_sum"));
  EXPECT_THAT(v.feedback, HasSubstr("candidate, by its own word: "));
}

TEST_F(EvaluatorHostGpuTest, FindsNoHiddenSizesInTheTasksTextWhileRecording) {
  const std::string hidden = task() +
                             "\ndef get_ragged_inputs():\n"
                             "    return [torch.randn(4001, 2048), torch.randn(4001, 2048)]\n";
  const char* const looks =
      "import model\nclass ModelNew(model.Model):\n"
      "    def forward(self, x, y):\n"
      "        assert x.shape[0] != 4096 or not hasattr(model, 'get_ragged_inputs')\n"
      "        return super().forward(x, y)\n";
  const Verdict v = verdict(FileSet{{"model_new.py", looks}}, Request::profile, hidden);
  ASSERT_EQ(v.outcome, VerdictClass::passed) << v.feedback;
  EXPECT_THAT(v.evidence, Not(HasSubstr("recording: the call raised an error")));
}

TEST_F(EvaluatorHostGpuTest, TheExamplePasses) {
  const Verdict v = example("", "", "", Request::final);
  print("example", v);
  ASSERT_EQ(v.outcome, VerdictClass::passed) << v.feedback;
  EXPECT_GT(v.shapes.at(0).speedup_eager_interval.value_or(Interval{}).low, 0);
  EXPECT_THAT(v.evidence, HasSubstr("\"undisturbed\":{\"compile_ms\":"));
}

TEST_F(EvaluatorHostGpuTest, NoLibraryPassesIfATaskRequiresCustomKernels) {
  const std::string custom = task() + "\ncustom_kernels_only = True\n";
  const Verdict own = verdict(test::example_workspace(), Request::verify, custom);
  EXPECT_EQ(own.outcome, VerdictClass::passed) << own.feedback;
  const char* const hidden = "import model\nclass ModelNew(model.Model):\n    pass\n";
  const Verdict v = verdict(FileSet{{"model_new.py", hidden}}, Request::verify, custom);
  EXPECT_EQ(v.outcome, VerdictClass::banned_construct) << v.feedback;
  EXPECT_THAT(v.feedback, HasSubstr("custom kernels only, a call ran ")) << v.feedback;
}

TEST_F(EvaluatorHostGpuTest, AWrongKernelIsWrong) {
  const Verdict v = example("kernels/gated_sum.cu", "alpha * a.w", "alpha * a.z");
  EXPECT_EQ(v.outcome, VerdictClass::wrong);
  EXPECT_THAT(v.feedback, HasSubstr("elements differ, the first is")) << v.feedback;
  EXPECT_THAT(v.evidence, HasSubstr("\"differs\":{")) << v.evidence;
}

TEST_F(EvaluatorHostGpuTest, AKernelThatWritesItsInputFaults) {
  const Verdict v =
      example("kernels/gated_sum.cu", "  out[i] =", "  const_cast<float4*>(x)[i] = c;\n  out[i] =");
  EXPECT_EQ(v.outcome, VerdictClass::device_fault) << v.feedback;
  EXPECT_EQ(example("", "", "").outcome, VerdictClass::passed) << "the device is unharmed";
}

// The GPU may finish the kernels before the verifier's sample runs.
TEST_F(EvaluatorHostGpuTest, AnEarlyDoneIsDetectedOrWaitedFor) {
  constexpr double asleep_ms = 15;  // 40 million cycles at 2.6 GHz
  const Verdict v =
      example("model_new.py", "        return ",
              "        import sys, ctypes, time\n"
              "        frame = sys._getframe()\n"
              "        while 'futex' not in frame.f_locals:\n"
              "            frame = frame.f_back\n"
              "        page, futex = frame.f_locals['page'], frame.f_locals['futex']\n"
              "        torch.cuda._sleep(40_000_000)\n"
              "        out = cuda_extension.gated_sum_forward(x, y, self.bias, self.alpha)\n"
              "        frame.f_locals['run'].__self__.outputs[0].copy_(out)\n"
              "        page.status = 1\n"
              "        page.done = page.ring\n"
              "        futex(ctypes.addressof(page) + 12, 1, 1)\n"
              "        return ",
              Request::final);
  if (v.outcome == VerdictClass::passed) {
    EXPECT_GT(*v.shapes.at(0).candidate_ms, asleep_ms) << v.feedback;
  } else {
    EXPECT_THAT(v.outcome, AnyOf(Eq(VerdictClass::wrong), Eq(VerdictClass::nonfinite)))
        << v.feedback;
  }
  print("early done", v);
}

TEST_F(EvaluatorHostGpuTest, PlainTorchCodePasses) {
  const Verdict v =
      verdict(FileSet{{"model_new.py", test::example_text("host_model_new/solution/model_new.py")}},
              Request::final, test::example_text("host_model_new/reference.py"));
  print("one file", v);
  EXPECT_EQ(v.outcome, VerdictClass::passed) << v.feedback;
}

// A kernel that stays on one multiprocessor until the last input changes; the next one computes.
constexpr const char* resident = R"(
#include <cuda_runtime.h>
namespace {
__global__ void watch(const volatile float* y, long count) {
  const float before = y[count - 1];
  for (long spins = 0; spins < 4000000 && y[count - 1] == before; ++spins) {}
}
__global__ void gated_sum(const float* x, const float* y, const float* bias, float* out, long count,
                          int columns, float alpha) {
  const long i = blockIdx.x * static_cast<long>(blockDim.x) + threadIdx.x;
  if (i >= count) return;
  const float z = alpha * x[i] + y[i] + bias[i % columns];
  out[i] = z / (1.0f + expf(-z));
}
}  // namespace
extern "C" void gated_sum_launcher(const float* x, const float* y, const float* bias, float* out,
                                   long rows, int columns, float alpha, bool ahead,
                                   cudaStream_t stream) {
  const long count = rows * columns;
  if (ahead) watch<<<1, 1, 0, stream>>>(y, count);
  gated_sum<<<static_cast<unsigned>((count + 255) / 256), 256, 0, stream>>>(x, y, bias, out, count,
                                                                           columns, alpha);
}
)";

constexpr const char* resident_binding =
    "#include <c10/cuda/CUDAStream.h>\n"
    "#include <cuda_runtime.h>\n"
    "#include <torch/csrc/utils/pybind.h>\n"
    "#include <torch/types.h>\n"
    "#include \"../binding_registry.h\"\n"
    R"(
extern "C" void gated_sum_launcher(const float*, const float*, const float*, float*, long, int,
                                   float, bool, cudaStream_t);
static void run(torch::Tensor x, torch::Tensor y, torch::Tensor bias, torch::Tensor out,
                double alpha, bool ahead) {
  gated_sum_launcher(x.data_ptr<float>(), y.data_ptr<float>(), bias.data_ptr<float>(),
                     out.data_ptr<float>(), x.size(0), static_cast<int>(x.size(1)),
                     static_cast<float>(alpha), ahead, c10::cuda::getCurrentCUDAStream());
}
REGISTER_BINDING(run, [](pybind11::module& m) { m.def("run", &run); })
)";

// Each call returns what was computed when its inputs appeared, and leaves the next kernel running.
constexpr const char* resident_model = R"(
import cuda_extension, torch
class ModelNew(torch.nn.Module):
    def __init__(self, columns, alpha):
        super().__init__()
        self.alpha = alpha
        self.bias = torch.nn.Parameter(torch.rand(columns))
        self.ahead = None
    def forward(self, x, y):
        out = torch.empty_like(x)
        if self.ahead is None:
            self.ahead, self.next = torch.cuda.Stream(), torch.empty_like(x)
            cuda_extension.run(x, y, self.bias, out, self.alpha, False)
        else:
            self.ahead.synchronize()
            out.copy_(self.next)
        torch.cuda.synchronize()
        with torch.cuda.stream(self.ahead):
            cuda_extension.run(x, y, self.bias, self.next, self.alpha, True)
        torch.cuda.synchronize = lambda device=None: torch.cuda.current_stream().synchronize()
        return out
)";

// Takes all memory but that of its own call, before any call.
constexpr const char* hog = R"(
spare = torch.empty(4 << 30, dtype=torch.uint8, device="cuda")
kept, size = [], 1 << 34
while size > 1 << 20:
    try:
        kept.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
    except torch.OutOfMemoryError:
        size //= 2
del spare
)";

TEST_F(EvaluatorHostGpuTest, TakingTheReferencesMemoryIsOutOfMemory) {
  std::string large = test::with(test::centred_code, "randn(512, 256)", "randn(65536, 2048)");
  large = test::with(large, "return [256]", "return [2048]");
  const Verdict v =
      verdict(test::model_new("return x * scale + self.bias", hog), Request::verify, large);
  print("no memory", v);
  EXPECT_EQ(v.outcome, VerdictClass::out_of_memory) << v.feedback;
  EXPECT_THAT(v.feedback, HasSubstr("the reference had no room"));
  EXPECT_EQ(example("", "", "").outcome, VerdictClass::passed) << "the device is unharmed";
}

TEST_F(EvaluatorHostGpuTest, TimeThatAResidentKernelCouldOverlapLowersTheTrust) {
  const Judgement judgement = judge(FileSet{{"model_new.py", resident_model},
                                            {"kernels/watch.cu", resident},
                                            {"kernels/watch_binding.cpp", resident_binding}},
                                    Request::final, task());
  const auto* failure = std::get_if<InfraFailure>(&judgement);
  const bool noise = failure != nullptr && failure->kind == InfraKind::noise;
  if (noise) GTEST_SKIP() << failure->detail;
  ASSERT_EQ(failure, nullptr) << failure->detail;
  const auto* v = std::get_if<Verdict>(&judgement);
  print("resident kernel", *v);
  if (v->correct()) {
    EXPECT_EQ(v->trust, TrustClass::lowered);
    EXPECT_THAT(v->evidence, HasSubstr("\"within_share\":false"));
  }
  EXPECT_EQ(example("", "", "").outcome, VerdictClass::passed) << "the device is unharmed";
}

}  // namespace
}  // namespace warpsmith::sandbox
