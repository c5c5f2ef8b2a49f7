// SPDX-License-Identifier: Apache-2.0
#include "sandbox/contract/host/host_compiler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "runtime/bytes.hpp"
#include "runtime/process/child.hpp"
#include "runtime/run/durable_file.hpp"
#include "sandbox/compile/diagnostics.hpp"
#include "sandbox/contract/host/host_submission.hpp"
#include "sandbox/jail/presets.hpp"
#include "sandbox/reference/worker.hpp"

namespace warpsmith::sandbox {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr const char* jail_toolkit = "/toolkit";  // where the CUDA toolkit is bound
constexpr int most_jobs = 4;
// torch's headers take 10 to 20 s a file, and the configured limit is for one file without them.
constexpr int slower_to_compile = 9;
constexpr uint64_t most_extension_bytes = 256ULL << 20U;

// What the build adds to a submission's sources. Files in kernels/ include "../binding_registry.h"
// for REGISTER_BINDING(name, function). The function, or a lambda, takes `pybind11::module&` and
// defines what Python sees.
constexpr const char* host_registry_file = "binding_registry.h";
constexpr const char* host_registry_text = R"header(#ifndef WARPSMITH_BINDING_REGISTRY_H
#define WARPSMITH_BINDING_REGISTRY_H
#include <pybind11/pybind11.h>

#include <functional>
#include <utility>
#include <vector>

namespace warpsmith_bindings {

using Definition = std::function<void(pybind11::module&)>;

inline std::vector<Definition>& all() {
  static std::vector<Definition> definitions;
  return definitions;
}

struct Entry {
  explicit Entry(Definition definition) { all().push_back(std::move(definition)); }
};

}  // namespace warpsmith_bindings

// Variadic: a lambda's body may hold commas.
#define WARPSMITH_BINDING_NAME_(name) warpsmith_binding_of_##name
#define REGISTER_BINDING(name, ...) \
  static const ::warpsmith_bindings::Entry WARPSMITH_BINDING_NAME_(name){__VA_ARGS__};
#endif
)header";

// The extension's module, which calls all registered functions.
constexpr const char* host_module_source = "binding.cpp";
constexpr const char* host_module_text = R"source(#include "binding_registry.h"

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
  for (const auto& define : ::warpsmith_bindings::all()) define(module);
}
)source";

/// `architecture`: "90a" for sm_90a.
struct ExtensionBuild {
  const HostToolchain& toolchain;
  std::string architecture;
  int jobs = 2;  // compilers at a time: a file that includes torch's headers takes 1.3 GB
};

constexpr const char* question =
    "import importlib.util, sysconfig\n"
    "torch = importlib.util.find_spec('torch')\n"
    "print(sysconfig.get_paths()['include'])\n"
    "print(torch.submodule_search_locations[0] if torch else '')\n";

Result<std::string> answer_of(const std::string& python) {
  ChildSpec ask;
  ask.argv = {python, "-I", "-c", question};
  ask.environment = compile_jail().environment;  // a user's variables do not reach the jail
  auto answer = run_child(ask, Deadline::after(std::chrono::seconds{60}));
  if (!answer) return fail("interpreter " + python, std::move(answer.error()));
  if (answer->exit_code == 0) return std::move(answer->out);
  return fail(ErrorCode::unsupported, "interpreter " + python + ": " + answer->err);
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

/// The folder above bin/nvcc; empty if there is none.
std::string toolkit_in(const std::string& root) {
  if (!root.empty() && is_there(fs::path(root) / "bin/nvcc")) return root;
  std::error_code error;
  const fs::path compiler = fs::canonical(find_program("nvcc"), error);
  return error ? "" : compiler.parent_path().parent_path().string();
}

/// Quoting guards only against spaces: folders come from this machine, names from the judge.
std::string quoted(const std::string& text) {
  return "'" + text + "'";
}

std::string joined(const std::vector<std::string>& flags) {
  std::string out;
  for (const std::string& flag : flags) out += ' ' + flag;
  return out;
}

std::string common_flags(const ExtensionBuild& build) {
  const HostToolchain& chain = build.toolchain;
  std::string flags = joined(host_library_build().compile_flags) +
                      " -D_GLIBCXX_USE_CXX11_ABI=1 -DTORCH_EXTENSION_NAME=" + host_extension_name;
  for (const std::string& folder :
       {chain.torch + "/include", chain.torch + "/include/torch/csrc/api/include",
        chain.python_headers}) {
    flags += " -isystem " + quoted(folder);
  }
  if (!chain.cuda.empty()) flags += std::string(" -isystem ") + jail_toolkit + "/include";
  return flags;
}

std::string libraries(const ExtensionBuild& build) {
  const HostToolchain& chain = build.toolchain;
  std::string flags =
      " -L" + quoted(chain.torch + "/lib") + " -lc10 -ltorch_cpu -ltorch -ltorch_python";
  if (chain.torch_has_cuda) flags += " -lc10_cuda -ltorch_cuda";
  if (!chain.cuda.empty()) flags += std::string(" -L") + jail_toolkit + "/lib64 -lcudart";
  return flags;
}

/// Compiles one source, by its name's ending, to an object. The output goes to standard error at
/// the end.
std::string compile_script(const ExtensionBuild& build) {
  const LibraryBuild flags = host_library_build();
  const std::string code = "arch=compute_" + build.architecture + ",code=sm_" + build.architecture;
  // No name contains a '+', so every source has its own object.
  return "object=/tmp/objects/$(printf %s \"$1\" | tr / +).o\n"
         "case \"$1\" in\n"
         "  *.cu) set -- " +
         std::string(jail_toolkit) + "/bin/nvcc -gencode=" + code + joined(flags.cuda_flags) +
         common_flags(build) +
         " -c \"$1\" -o \"$object\" ;;\n"
         "  *) set -- /usr/bin/g++ -fmax-errors=5 -fdiagnostics-color=never "
         "-fno-diagnostics-show-caret" +
         joined(flags.host_flags) + common_flags(build) +
         " -c \"$1\" -o \"$object\" ;;\n"
         "esac\n"
         "\"$@\" > \"$object.log\" 2>&1 && exit 0\n"
         "cat \"$object.log\" >&2\n"
         "exit 255\n";  // xargs starts no other compiler then
}

/// Compiles all sources and links them; the shared object goes to standard output.
std::string build_script(const ExtensionBuild& build) {
  return fmt::format(
      "mkdir /tmp/objects || exit 1\n"
      "printf '%s\\n' \"$@\" | xargs -P {} -n 1 /bin/sh /build/compile.sh || exit 1\n"
      "/usr/bin/g++ -shared -o /tmp/extension.so /tmp/objects/*.o{} >&2 || exit 1\n"
      "exec cat /tmp/extension.so\n",
      build.jobs, libraries(build));
}

ExtensionBuild build_of(const HostCompilerOptions& options) {
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  return {options.toolchain, options.architecture, std::clamp(cores, 1, most_jobs)};
}

/// "90a" as torch's loader reads it: "9.0a".
std::string torch_architecture(std::string architecture) {
  const size_t digits = architecture.find_first_not_of("0123456789");
  const size_t minor = (digits == std::string::npos ? architecture.size() : digits) - 1;
  return architecture.insert(minor, ".");
}

void bind_toolkit(JailSpec& spec, const HostToolchain& toolchain) {
  if (!toolchain.cuda.empty()) spec.read_only.push_back({toolchain.cuda, jail_toolkit});
}

/// A share of the caller's time at most: a compilation that runs until the caller's deadline could
/// not be told from an internal failure.
milliseconds timeout_of(const SandboxSettings& settings, Deadline deadline) {
  return std::min<milliseconds>(slower_to_compile * settings.compile_timeout,
                                deadline.left() * 3 / 4);
}

JailLimits compile_limits(const SandboxSettings& settings) {
  return {.memory_bytes = 8ULL << 30U,
          .processes = 256,
          .file_bytes = most_extension_bytes,
          .tmp_bytes = 1ULL << 30U,
          .open_files = 1024,
          .cpu = std::chrono::seconds{180},
          .output_bytes = most_extension_bytes,
          .cgroup_required = settings.require_cgroups};
}

}  // namespace

Result<HostToolchain> find_host_toolchain(const std::string& python, const std::string& cuda_root) {
  TRY(auto answer, answer_of(python));
  HostToolchain found{.python = python};
  std::istringstream lines{answer};
  std::getline(lines, found.python_headers);
  std::getline(lines, found.torch);
  const fs::path torch = found.torch;
  if (found.torch.empty() || !is_there(torch / "include/torch/extension.h")) {
    return fail(ErrorCode::unsupported, "no headers of torch next to " + python);
  }
  if (!is_there(fs::path(found.python_headers) / "Python.h")) {
    return fail(ErrorCode::unsupported, "no Python.h in " + found.python_headers);
  }
  constexpr size_t most_bytes = 64U << 10U;
  TRY(auto version, read_text_file(torch / "version.py", most_bytes));
  found.torch_version = std::move(version);
  found.torch_has_cuda = is_there(torch / "lib/libtorch_cuda.so");
  found.cuda = toolkit_in(cuda_root);
  return found;
}

LibraryBuild host_library_build() {
  // The definitions of torch's own loader, and the language that torch's headers are written in.
  return {
      .compile_flags = {"-std=c++17", "-w",
                        "-DTORCH_EXTENSION_NAME=" + std::string(host_extension_name),
                        "-DTORCH_API_INCLUDE_EXTENSION_H"},
      .headers = {{host_registry_file, host_registry_text}, {host_module_source, host_module_text}},
      .host_flags = {"-O2", "-fPIC"},
      .cuda_flags = {"-O3", "--expt-relaxed-constexpr", "--expt-extended-lambda",
                     "--compiler-options", "-fPIC"}};
}

HostCompiler::HostCompiler(HostCompilerOptions options, CompileCache cache)
    : options_(std::move(options)), cache_(std::move(cache)) {
  const ExtensionBuild build = build_of(options_);
  toolchain_hash_ =
      sha256_hex(compile_script(build) + build_script(build) + host_registry_text +
                 host_module_text + options_.toolchain.torch_version + options_.toolchain.cuda);
}

Result<HostCompiler> HostCompiler::open(HostCompilerOptions options) {
  TRY(auto cache, CompileCache::open(options.sandbox.compiled_folder(),
                                     options.sandbox.settings.compile_cache_bytes));
  return HostCompiler{std::move(options), std::move(cache)};
}

Result<JailSpec> HostCompiler::extension_jail(const HostSubmission& submission) const {
  JailSpec spec = compile_jail();
  const HostToolchain& chain = options_.toolchain;
  bind_toolkit(spec, chain);
  for (const std::string& folder : {chain.torch, chain.python_headers}) {
    spec.read_only.push_back({folder, folder});
  }
  const ExtensionBuild build = build_of(options_);
  spec.files["/build/compile.sh"] = compile_script(build);
  spec.files["/build/build.sh"] = build_script(build);
  for (const auto& [name, content] : submission.sources) spec.files["/src/" + name] = content;
  spec.files[std::string("/src/") + host_registry_file] = host_registry_text;
  spec.files[std::string("/src/") + host_module_source] = host_module_text;
  spec.argv = {"/bin/sh", "/build/build.sh", host_module_source};
  spec.argv.insert(spec.argv.end(), submission.compiled.begin(), submission.compiled.end());
  spec.directory = "/src";
  return spec;
}

Result<JailSpec> HostCompiler::loaders_jail(const HostSubmission& submission,
                                            const std::string& task) const {
  TRY(auto jail, worker_jail(options_.toolchain.python));
  JailSpec& spec = jail;
  spec.kind = JailKind::host;  // model_new.py runs here and may end as if it had been killed
  bind_toolkit(spec, options_.toolchain);
  spec.argv.insert(spec.argv.end(), {"-P", "-s", "/worker/host_builder.py"});
  spec.read_only.push_back({worker_folder(), "/worker"});
  // The parser has refused what is not text.
  spec.files["/build.json"] = nlohmann::json{{"files", submission.modules}, {"task", task}}.dump(
      -1, ' ', false, nlohmann::json::error_handler_t::replace);
  const std::string tools = std::filesystem::path(options_.toolchain.python).parent_path();
  spec.environment["PATH"] = tools + ":" + jail_toolkit + "/bin:/usr/bin:/bin";
  spec.environment["PYTHONPATH"] = "/worker";
  spec.environment["PYTHONDONTWRITEBYTECODE"] = "1";
  spec.environment["CUDA_HOME"] = jail_toolkit;
  spec.environment["TORCH_CUDA_ARCH_LIST"] = torch_architecture(options_.architecture);
  spec.environment["MAX_JOBS"] = std::to_string(build_of(options_).jobs);
  return jail;
}

Compiled HostCompiler::result_of(JailExit exit) const {
  if (exit.exit_code != 0) {
    if (auto large = too_large_a_file(exit, most_extension_bytes)) return std::move(*large);
    exit.err.resize(
        std::min(exit.err.size(), static_cast<size_t>(options_.sandbox.settings.message_bytes)));
    return failed_compiling(VerdictClass::compile_error, summarise_host_errors(exit.err));
  }
  if (exit.output_cut) {
    return failed_compiling(VerdictClass::compile_error,
                            fmt::format("the extension exceeds {} bytes", most_extension_bytes));
  }
  Compiled result;
  result.artefact = std::move(exit.out);
  return result;
}

Result<Compiled> HostCompiler::compile(const HostSubmission& submission, const std::string& task,
                                       Deadline deadline) {
  if (submission.artefact == HostArtefact::none) return Compiled{};
  const bool ours = submission.artefact == HostArtefact::extension;
  const bool has_kernels = std::ranges::any_of(
      submission.compiled, [](const std::string& name) { return name.ends_with(".cu"); });
  if (has_kernels && options_.toolchain.cuda.empty()) {
    return fail(ErrorCode::unsupported, "no nvcc on this machine, which kernels/*.cu need");
  }
  const std::string content =
      ours ? content_of(submission.sources) : content_of(submission.modules) + '\0' + task;
  const std::string key = sha256_hex(toolchain_hash_ + content);
  return compile_once(cache_, key, [&]() -> Result<Compiled> {
    TRY(auto spec, ours ? extension_jail(submission) : loaders_jail(submission, task));
    spec.cores = options_.sandbox.cores;
    spec.limits = compile_limits(options_.sandbox.settings);
    return run_compiler(spec, timeout_of(options_.sandbox.settings, deadline), deadline,
                        [this](JailExit exit) { return result_of(std::move(exit)); });
  });
}

}  // namespace warpsmith::sandbox
