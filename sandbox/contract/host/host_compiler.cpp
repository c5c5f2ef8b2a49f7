// SPDX-License-Identifier: Apache-2.0
#include "sandbox/contract/host/host_compiler.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "runtime/checksum.hpp"
#include "sandbox/compile/diagnostics.hpp"
#include "sandbox/contract/host/host_registry.hpp"
#include "sandbox/jail/presets.hpp"

namespace warpsmith::sandbox {
namespace {

using std::chrono::milliseconds;

constexpr int most_jobs = 4;

HostBuild build_of(const HostCompilerOptions& options) {
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
/// not be told from a failure of ours.
milliseconds compile_patience(milliseconds limit, Deadline deadline) {
  return std::min<milliseconds>(limit, deadline.left() * 3 / 4);
}

}  // namespace

HostCompiler::HostCompiler(HostCompilerOptions options, CompileCache cache)
    : options_(std::move(options)), cache_(std::move(cache)) {
  const HostBuild build = build_of(options_);
  toolchain_hash_ =
      sha256_hex(host_compile_script(build) + host_build_script(build) + host_registry_text +
                 host_module_text + options_.toolchain.torch_version + options_.toolchain.cuda);
}

Result<HostCompiler> HostCompiler::open(HostCompilerOptions options) {
  auto cache = CompileCache::open(options.cache_dir, options.cache_bytes);
  if (!cache) return tl::unexpected(std::move(cache.error()));
  return HostCompiler{std::move(options), std::move(*cache)};
}

Result<JailSpec> HostCompiler::extension_jail(const HostSubmission& submission) const {
  JailSpec spec = compile_jail();
  const HostToolchain& chain = options_.toolchain;
  bind_toolkit(spec, chain);
  for (const std::string& folder : {chain.torch, chain.python_headers}) {
    spec.read_only.push_back({folder, folder});
  }
  const HostBuild build = build_of(options_);
  spec.files["/build/compile.sh"] = host_compile_script(build);
  spec.files["/build/build.sh"] = host_build_script(build);
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
  auto jail = worker_jail(options_.toolchain.python);
  if (!jail) return jail;
  JailSpec& spec = *jail;
  spec.kind = JailKind::host;  // model_new.py runs here and may end as if it had been killed
  bind_toolkit(spec, options_.toolchain);
  spec.argv.insert(spec.argv.end(), {"-P", "-s", "/worker/host_builder.py"});
  spec.read_only.push_back({std::filesystem::absolute(options_.worker_folder), "/worker"});
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

Compiled HostCompiler::judged(JailExit exit) const {
  if (exit.exit_code != 0) {
    if (auto large = too_large_a_file(exit, options_.limits.file_bytes)) return std::move(*large);
    exit.err.resize(std::min<size_t>(exit.err.size(), options_.message_bytes));
    return failed_compiling(VerdictClass::compile_error, summarise_host_errors(exit.err));
  }
  if (exit.output_cut) {
    return failed_compiling(
        VerdictClass::compile_error,
        "the extension exceeds " + std::to_string(options_.limits.output_bytes) + " bytes");
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
    auto spec = ours ? extension_jail(submission) : loaders_jail(submission, task);
    if (!spec) return tl::unexpected(std::move(spec.error()));
    spec->cores = options_.cores;
    spec->limits = options_.limits;
    return run_compiler(*spec, compile_patience(options_.timeout, deadline), deadline,
                        [this](JailExit exit) { return judged(std::move(exit)); });
  });
}

}  // namespace warpsmith::sandbox
