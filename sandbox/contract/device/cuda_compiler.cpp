// SPDX-License-Identifier: Apache-2.0
#include "sandbox/contract/device/cuda_compiler.hpp"

#include "runtime/checksum.hpp"
#include "sandbox/compile/cubin.hpp"
#include "sandbox/compile/diagnostics.hpp"
#include "sandbox/contract/device/implicit_names.hpp"
#include "sandbox/jail/presets.hpp"
#include "sandbox/plan/plan.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr const char* cubin_path = "/tmp/kernels.cubin";
constexpr const char* toolkit_headers = "/include";  // how each `include_path` begins

/// We choose all flags.
std::vector<std::string> flags(const CudaCompilerOptions& options) {
  std::vector<std::string> all{"--gpu-architecture=sm_" + options.architecture};
  for (std::string& flag : cuda_compile_flags()) all.push_back(std::move(flag));
  for (size_t i = 0; i < options.toolchain.includes.size(); ++i) {
    all.push_back("-I" + include_path(i));
  }
  return all;
}

bool is_source(const std::string& name) {
  return name == device_source_file || name.ends_with(".h") || name.ends_with(".hpp") ||
         name.ends_with(".cuh") || name.ends_with(".inc");
}

FileSet sources_of(const FileSet& files) {
  FileSet sources;
  for (const auto& file : files) {
    if (is_source(file.first)) sources.insert(file);
  }
  return sources;
}

NvrtcOptions pool_options(const CudaCompilerOptions& options) {
  return {.program = options.program,
          .library_folder = options.toolchain.library_folder,
          .includes = options.toolchain.includes,
          .flags = flags(options),
          .precompiled_folder = options.cache_bytes > 0 ? options.cache_dir + "/precompiled" : "",
          .limits = options.limits,
          .cores = options.cores,
          .ready = options.ready};
}

/// Whether NVRTC failed where nvcc may not: for want of the host's C++ headers, or inside one of
/// the toolkit's.
bool may_compile_by_nvcc(const std::string& log) {
  return log.find("open source file") != std::string::npos ||
         log.find(toolkit_headers) != std::string::npos;
}

JailSpec nvcc_jail(const CudaCompilerOptions& options, const FileSet& files) {
  JailSpec spec = compile_jail();
  spec.argv = {"/bin/sh",
               "-c",
               "\"$@\" >&2 && exec cat " + std::string(cubin_path),
               "sh",
               "/toolkit/bin/nvcc",
               "-cubin",
               "-O3",
               "-w"};
  for (const std::string& flag : flags(options)) spec.argv.push_back(flag);
  spec.argv.insert(spec.argv.end(), {"-o", cubin_path, device_source_file});
  spec.read_only.push_back({options.toolchain.root, "/toolkit"});
  for (size_t i = 0; i < options.toolchain.includes.size(); ++i) {
    spec.read_only.push_back({options.toolchain.includes[i], include_path(i)});
  }
  for (const auto& [name, content] : files) spec.files["/src/" + name] = content;
  spec.directory = "/src";
  spec.cores = options.cores;
  spec.limits = options.limits;
  spec.limits.output_bytes = options.limits.file_bytes;
  return spec;
}

}  // namespace

std::vector<std::string> cuda_compile_flags() {
  return {"--std=c++20", "--extra-device-vectorization"};
}

CudaCompiler::CudaCompiler(CudaCompilerOptions options, CompileCache cache, NvrtcPool pool)
    : options_(std::move(options)), cache_(std::move(cache)), pool_(std::move(pool)) {
  std::string identity = "nvrtc " + pool_.version() + '\n' + identity_of(options_.toolchain);
  for (const std::string& flag : flags(options_)) identity += '\n' + flag;
  identity += content_of(with_implicit_names({}).files);
  toolchain_hash_ = sha256_hex(identity + std::to_string(options_.global_bytes) + ',' +
                               std::to_string(most_stack_bytes));
}

Result<CudaCompiler> CudaCompiler::open(CudaCompilerOptions options, Deadline deadline) {
  auto pool = NvrtcPool::open(pool_options(options), deadline);
  if (!pool) return tl::unexpected(std::move(pool.error()));
  auto cache = CompileCache::open(options.cache_dir, options.cache_bytes);
  if (!cache) return tl::unexpected(std::move(cache.error()));
  return CudaCompiler{std::move(options), std::move(*cache), std::move(*pool)};
}

Compiled CudaCompiler::inspected(std::string cubin) const {
  const auto facts = read_cubin(cubin);
  if (!facts) return failed_compiling(VerdictClass::banned_construct, facts.error().message);
  if (auto objection = objection_to(*facts, options_.global_bytes)) {
    return failed_compiling(objection->outcome, std::move(objection->text));
  }
  Compiled result;
  result.artefact = std::move(cubin);
  return result;
}

Compiled CudaCompiler::refused(const std::string& log) const {
  return failed_compiling(VerdictClass::compile_error,
                          summarise_cuda_errors(log.substr(0, options_.message_bytes)));
}

Result<Compiled> CudaCompiler::by_nvcc(const FileSet& files, Deadline deadline) const {
  return run_compiler(
      nvcc_jail(options_, files), options_.timeout, deadline, [this](JailExit exit) {
        return exit.exit_code != 0 ? refused(exit.err) : inspected(std::move(exit.out));
      });
}

Result<Compiled> CudaCompiler::compile_fresh(const FileSet& files, Deadline deadline) {
  const CudaSource source{files, device_source_file, flags(options_)};
  auto answer = pool_.compile(source, options_.timeout, deadline);
  if (answer && answer->object && !answer->object->compiled &&
      lacks_implicit_names(answer->object->log)) {
    answer = pool_.compile(with_implicit_names(source), options_.timeout, deadline);
  }
  if (!answer) return tl::unexpected(std::move(answer.error()));
  if (auto whole = unharmed(answer->exit); !whole) return tl::unexpected(std::move(whole.error()));
  Compiled result;
  if (!answer->object) {
    auto stopped = stopped_by_limit(answer->exit, options_.timeout);
    result = stopped ? std::move(*stopped)
                     : failed_compiling(VerdictClass::compile_error, "the compiler crashed");
    result.lasting = false;
  } else if (answer->object->failed) {
    const std::string why = "the compiler failed: " + answer->object->log;
    result = failed_compiling(VerdictClass::compile_error, why.substr(0, options_.message_bytes));
    result.lasting = false;
  } else if (answer->object->compiled) {
    result = inspected(std::move(answer->object->cubin));
  } else if (may_compile_by_nvcc(answer->object->log) && !options_.toolchain.root.empty()) {
    return by_nvcc(files, deadline);
  } else {
    result = refused(answer->object->log);
  }
  result.jail = std::move(answer->jail);
  return result;
}

Result<Compiled> CudaCompiler::compile(const FileSet& submitted, Deadline deadline) {
  const FileSet files = sources_of(submitted);
  if (auto unfit = unfit_sources(files, device_source_file, options_.source_bytes)) {
    return std::move(*unfit);
  }
  const std::string key = sha256_hex(toolchain_hash_ + content_of(files));
  return compile_once(cache_, key, [&] { return compile_fresh(files, deadline); });
}

}  // namespace warpsmith::sandbox
