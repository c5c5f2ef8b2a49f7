// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/faults.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/bytes.hpp"

namespace warpsmith::commands {
namespace {

using Classes = std::set<VerdictClass>;
using enum VerdictClass;

const char* const code_of_sum = R"(import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x * 2 + 1

def get_inputs():
    return [torch.randn(256, 1024)]

def get_init_inputs():
    return []
)";

/// A fault and the verdict classes that are correct for it.
struct Body {
  const char* name;
  Classes expected;
  const char* text;               // statements
  const char* declarations = "";  // before the function
  const char* plan = "";          // contract `device`: put in front of `launch_once`
};

// In `text`, x and y are input and output, n the number of their elements.
const std::vector<Body> cpu_bodies{
    {"null_write", {device_fault}, "*(volatile int*)8 = 1;"},
    {"illegal_instruction", {device_fault}, "__builtin_trap();"},
    {"division_by_zero",
     {device_fault},
     "volatile int top = 7, zero = 0; y[0] = (float)(top / zero);"},
    {"uncaught_exception", {device_fault}, "throw 1;"},
    {"abort", {device_fault}, "abort();", "extern \"C\" void abort();\n"},
    {"exit_in_the_call", {device_fault}, "_exit(0);", "extern \"C\" void _exit(int);\n"},
    {"stack_overflow",
     {device_fault},
     "volatile int start = 0; y[0] = (float)deeper(&start);",
     "static int deeper(volatile int* p) {\n"
     "  volatile int more[4096];\n  more[0] = *p;\n  return deeper(more) + more[1];\n}\n"},
    {"hang", {timeout}, "for (volatile long i = 0;; i = i + 1) continue;"},
    {"hang_when_timed",
     {timeout},
     "static int calls = 0;\n"
     "  for (int64_t i = 0; i < n; ++i) y[i] = 2 * x[i] + 1;\n"
     "  if (++calls > 7) for (volatile long i = 0;; i = i + 1) continue;"},
    {"fault_when_timed",
     {device_fault},
     "static int calls = 0;\n"
     "  for (int64_t i = 0; i < n; ++i) y[i] = 2 * x[i] + 1;\n"
     "  if (++calls > 7) *(volatile int*)8 = 1;"},
    {"out_of_memory",
     {out_of_memory},
     "const std::vector<char> all(64LL << 30, 1); y[0] = all[(size_t)n];",
     "#include <vector>\n"},
    {"fork_bomb", {banned_construct}, "while (true) fork();", "extern \"C\" int fork();\n"},
    {"past_the_end", {oob_write}, "((volatile float*)y)[n] = 1;"},
    {"runs_away", {oob_write, device_fault}, "for (volatile float* p = y;; ++p) *p = 1;"},
    {"writes_its_input", {input_mutated}, "*(volatile float*)const_cast<float*>(x) = 0;"},
    {"writes_nothing", {nonfinite, wrong}, "(void)x; (void)y; (void)n;"},
};

const char* const right_answer = "if (i < n) y[i] = 2 * x[i] + 1;";

// In `text`, i is the number of the thread.
const std::vector<Body> device_bodies{
    {"illegal_address", {device_fault}, "y[1LL << 40] = 1;"},
    {"null_write", {device_fault}, "*(volatile int*)8 = 1;"},
    {"misaligned_address", {device_fault}, "*(volatile double*)(y + 1) = 1;"},
    {"trap", {device_fault}, "if (x[0] == x[0]) __trap();"},
    {"hang", {timeout}, "while (true) *(volatile float*)y = 1;"},
    {"local_memory_bomb",
     {banned_construct},
     "volatile char big[400000]; big[i % 400000] = 1; if (big[n % 400000] == 2) y[0] = 1;"},
    {"scratch_bomb",
     {compile_error},
     right_answer,
     "",
     "[scratch.all]\ndtype = \"f32\"\nshape = [\"d0\", \"d1\", 1000000]\n\n"},
    {"printf_flood", {banned_construct}, "printf(\"%lld\\n\", i);"},
    {"device_malloc", {banned_construct}, "if (i < n) y[i] = malloc(1 << 20) != nullptr;"},
    {"huge_grid",
     {compile_error, launch_error},
     right_answer,
     "",
     "[[step]]\nlaunch = \"faulty\"\ngrid = [1, \"d0 * d1\"]\nblock = [64]\n"
     "args = [\"x\", \"y\", \"d0 * d1\"]\n\n"},
    {"past_the_end", {oob_write}, "if (i == 0) y[n + 3] = 1;"},
    {"writes_its_input", {device_fault, input_mutated}, "const_cast<float*>(x)[0] = 0;"},
    {"writes_nothing", {nonfinite, wrong}, "if (i < 0) y[0] = x[0];"},
    // Takes about a second per call: not a fault, but others wait for the device.
    {"slow",
     {passed},
     "const long long end = clock64() + 1700000000LL;\n"
     "  if (i == 0) while (clock64() < end) continue;\n"
     "  if (i < n) y[i] = 2 * x[i] + 1;"},
};

std::string cpu_source(const Body& body) {
  return std::string("#include \"warpsmith.h\"\n") + body.declarations +
         "extern \"C\" void solve(const void* const* in, void* const* out, const int64_t* d) {\n"
         "  const float* x = (const float*)in[0];\n"
         "  float* y = (float*)out[0];\n"
         "  const int64_t n = d[0] * d[1];\n  " +
         body.text + "\n}\n";
}

std::string device_source(const Body& body) {
  return std::string(body.declarations) +
         "extern \"C\" __global__ void faulty(const float* x, float* y, long long n) {\n"
         "  const long long i = blockIdx.x * 256LL + threadIdx.x;\n  " +
         body.text + "\n}\n";
}

const char* const launch_once =
    "[[step]]\nlaunch = \"faulty\"\ngrid = [\"ceildiv(d0 * d1, 256)\"]\nblock = [256]\n"
    "args = [\"x\", \"y\", \"d0 * d1\"]\n";

FileSet files_of(const std::string& contract, const Body& body) {
  if (contract == "cpu") return {{"kernel.cpp", cpu_source(body)}};
  return {{"kernels.cu", device_source(body)}, {"plan.toml", std::string(body.plan) + launch_once}};
}

/// Formats one verified set of a verdict's evidence, without anything random.
std::string set_text(const nlohmann::json& set) {
  const auto number = [&](const char* key) { return std::to_string(set.value(key, int64_t{0})); };
  const auto flag = [&](const char* key) {
    return set.value(key, false) ? " " + std::string(key) : "";
  };
  return set.value("distribution", std::string("unnamed")) + ": " + number("wrong") + " wrong, " +
         number("nonfinite") + " not finite of " + number("elements") + flag("inputs_changed") +
         flag("guards_changed");
}

std::vector<std::string> sets_of(const std::string& evidence) {
  const auto json = nlohmann::json::parse(evidence, nullptr, false);
  std::vector<std::string> sets;
  if (!json.is_object() || !json.contains("sets")) return sets;
  for (const auto& set : json["sets"]) sets.push_back(set_text(set));
  std::ranges::sort(sets);
  return sets;
}

}  // namespace

Task fault_task(const std::string& contract) {
  Task task{.id = "fault_task", .code = code_of_sum};
  if (contract != "cpu") {
    task.device = DeviceClass::cuda;
    task.code = std::string("DEVICE = \"cuda\"\n") + code_of_sum;
  }
  task.content_hash = sha256_hex(task.code);
  return task;
}

FileSet honest_fault_files(const std::string& contract) {
  const bool on_cpu = contract == "cpu";
  return files_of(contract,
                  {"honest",
                   {passed},
                   on_cpu ? "for (int64_t i = 0; i < n; ++i) y[i] = 2 * x[i] + 1;" : right_answer});
}

std::vector<FaultKind> fault_kinds(const std::string& contract) {
  std::vector<FaultKind> kinds;
  for (const Body& body : contract == "cpu" ? cpu_bodies : device_bodies) {
    kinds.push_back({body.name, body.expected, files_of(contract, body), std::nullopt});
  }
  for (const SlotProcess process : {SlotProcess::candidate, SlotProcess::reference_worker,
                                    SlotProcess::compiler, SlotProcess::service}) {
    kinds.push_back({"kill_" + std::string(to_string(process)), {}, {}, process});
  }
  return kinds;
}

JudgedOutcome judged(const Judgement& judgement) {
  if (const auto* failure = std::get_if<InfraFailure>(&judgement)) {
    return {std::string(to_string(failure->kind)), {}, failure->detail};
  }
  const auto& verdict = std::get<Verdict>(judgement);
  // A verdict that is not correct ends at a random set, so its sets cannot be compared.
  auto sets = verdict.correct() ? sets_of(verdict.evidence) : std::vector<std::string>{};
  return {std::string(to_string(verdict.outcome)), std::move(sets), verdict.feedback};
}

uint64_t Leftovers::missing_bytes() const {
  const uint64_t before = free_bytes_before.value_or(0), after = free_bytes_after.value_or(0);
  return before > after ? before - after : 0;
}

int64_t FaultFigures::faults() const {
  int64_t sum = 0;
  for (const auto& [name, kind] : kinds) sum += kind.count;
  return sum;
}

int64_t FaultFigures::unexpected() const {
  int64_t sum = 0;
  for (const auto& [name, kind] : kinds) sum += kind.unexpected;
  return sum;
}

bool FaultFigures::meets_bars() const {
  const bool clean = leftovers.zombies.empty() && leftovers.processes.empty() &&
                     leftovers.groups.empty() && leftovers.files.empty();
  return honest == honest_equal && killed == killed_equal && unexpected() == 0 && clean &&
         leftovers.missing_bytes() <= device_slack_bytes;
}

}  // namespace warpsmith::commands
