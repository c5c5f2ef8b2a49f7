// SPDX-License-Identifier: Apache-2.0
#include "sandbox/contract/device/cuda_compiler.hpp"

#include <fmt/format.h>

#include <array>

#include "runtime/bytes.hpp"
#include "sandbox/compile/cubin.hpp"
#include "sandbox/compile/diagnostics.hpp"
#include "sandbox/compile/nvrtc.hpp"
#include "sandbox/jail/presets.hpp"
#include "sandbox/plan/plan.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr const char* implicit_header = "warpsmith_implicit.h";

constexpr std::array standard_headers{"assert.h", "cassert",  "cfloat",  "climits",  "cmath",
                                      "cstddef",  "cstdint",  "cstdio",  "cstdlib",  "cstring",
                                      "float.h",  "limits.h", "math.h",  "stddef.h", "stdint.h",
                                      "stdio.h",  "stdlib.h", "string.h"};

// Integer types come from CUDA's own headers, or a source that includes these would declare them
// differently. NVRTC brings assert, printf, malloc, memcpy and the mathematical functions itself.
constexpr const char* implicit_text = R"(#pragma once
#include <cuda/std/climits>
#include <cuda/std/cstddef>
#include <cuda/std/cstdint>
typedef unsigned int uint;
typedef unsigned short ushort;
typedef unsigned long ulong;
__device__ inline void abort() { __trap(); }
#define RAND_MAX 2147483647
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fc00000)
#define HUGE_VALF INFINITY
#define HUGE_VAL __longlong_as_double(0x7ff0000000000000ll)
#define FLT_RADIX 2
#define FLT_MANT_DIG 24
#define FLT_DIG 6
#define FLT_MIN 1.17549435e-38f
#define FLT_MAX 3.40282347e+38f
#define FLT_EPSILON 1.19209290e-7f
#define FLT_MIN_EXP (-125)
#define FLT_MAX_EXP 128
#define DBL_MANT_DIG 53
#define DBL_DIG 15
#define DBL_MIN 2.2250738585072014e-308
#define DBL_MAX 1.7976931348623157e+308
#define DBL_EPSILON 2.2204460492503131e-16
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
namespace std {
using ::size_t; using ::ptrdiff_t;
using nullptr_t = decltype(nullptr);
using ::int8_t; using ::int16_t; using ::int32_t; using ::int64_t;
using ::uint8_t; using ::uint16_t; using ::uint32_t; using ::uint64_t;
using ::intptr_t; using ::uintptr_t; using ::intmax_t; using ::uintmax_t;
using ::abs; using ::acos; using ::acosh; using ::asin; using ::asinh; using ::atan;
using ::atan2; using ::atanh; using ::cbrt; using ::ceil; using ::copysign; using ::cos;
using ::cosh; using ::erf; using ::erfc; using ::exp; using ::exp2; using ::expm1; using ::fabs;
using ::fdim; using ::floor; using ::fma; using ::fmax; using ::fmin; using ::fmod; using ::frexp;
using ::hypot; using ::ilogb; using ::isfinite; using ::isinf; using ::isnan; using ::ldexp;
using ::lgamma; using ::llrint; using ::llround; using ::log; using ::log10; using ::log1p;
using ::log2; using ::logb; using ::lrint; using ::lround; using ::modf; using ::nearbyint;
using ::nextafter; using ::pow; using ::remainder; using ::remquo; using ::rint; using ::round;
using ::scalbln; using ::scalbn; using ::signbit; using ::sin; using ::sinh; using ::sqrt;
using ::tan; using ::tanh; using ::tgamma; using ::trunc;
using ::malloc; using ::free; using ::memcpy; using ::memset; using ::printf;
}
)";

bool has(const std::string& log, const char* text) {
  return log.find(text) != std::string::npos;
}

/// Whether a source failed because of a name that only nvcc provides, or of a standard header with
/// such names.
bool lacks_implicit_names(const std::string& log) {
  return has(log, "\" is undefined") || has(log, "namespace \"std\" has no member") ||
         has(log, "open source file");
}

constexpr const char* cubin_path = "/tmp/kernels.cubin";
constexpr const char* toolkit_headers = "/include";  // how each `include_path` begins

/// The judge chooses all flags.
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

/// While it runs, NVRTC keeps up to 256 MB of precompiled headers in /tmp.
JailLimits compile_limits(const SandboxSettings& settings) {
  return {.memory_bytes = 2ULL << 30U,
          .processes = static_cast<uint32_t>(settings.compile_tasks),
          .file_bytes = 64ULL << 20U,
          .tmp_bytes = 512ULL << 20U,
          .cgroup_required = settings.require_cgroups};
}

NvrtcOptions pool_options(const CudaCompilerOptions& options) {
  return {.program = options.sandbox.program,
          .library_folder = options.toolchain.library_folder,
          .includes = options.toolchain.includes,
          .flags = flags(options),
          .precompiled_folder = options.sandbox.compiled_folder() + "/precompiled",
          .limits = compile_limits(options.sandbox.settings),
          .cores = options.sandbox.cores};
}

/// Whether NVRTC failed where nvcc may not: because the host's C++ headers are missing, or inside
/// one of the toolkit's.
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
  spec.cores = options.sandbox.cores;
  spec.limits = compile_limits(options.sandbox.settings);
  spec.limits.output_bytes = spec.limits.file_bytes;
  return spec;
}

}  // namespace

CudaSource with_implicit_names(CudaSource source) {
  source.files[implicit_header] = implicit_text;
  for (const char* header : standard_headers) {
    source.files.try_emplace(header, std::string("#include \"") + implicit_header + "\"\n");
  }
  source.options.push_back(std::string("--pre-include=") + implicit_header);
  return source;
}

std::vector<std::string> cuda_compile_flags() {
  return {"--std=c++20", "--extra-device-vectorization"};
}

CudaCompiler::CudaCompiler(CudaCompilerOptions options, CompileCache cache, NvrtcPool pool)
    : options_(std::move(options)), cache_(std::move(cache)), pool_(std::move(pool)) {
  std::string identity = "nvrtc " + pool_.version() + '\n' + identity_of(options_.toolchain);
  for (const std::string& flag : flags(options_)) identity += '\n' + flag;
  identity += content_of(with_implicit_names({}).files);
  toolchain_hash_ =
      sha256_hex(fmt::format("{}{},{}", identity, most_global_bytes, most_stack_bytes));
}

Result<CudaCompiler> CudaCompiler::open(CudaCompilerOptions options, Deadline deadline) {
  TRY(auto pool, NvrtcPool::open(pool_options(options), deadline));
  TRY(auto cache, CompileCache::open(options.sandbox.compiled_folder(),
                                     options.sandbox.settings.compile_cache_bytes));
  return CudaCompiler{std::move(options), std::move(cache), std::move(pool)};
}

Compiled CudaCompiler::inspected(std::string cubin) const {
  const auto facts = read_cubin(cubin);
  if (!facts) return failed_compiling(VerdictClass::banned_construct, facts.error().message);
  if (auto objection = objection_to(*facts, most_global_bytes)) {
    return failed_compiling(objection->outcome, std::move(objection->text));
  }
  Compiled result;
  result.artefact = std::move(cubin);
  return result;
}

Compiled CudaCompiler::refused(const std::string& log) const {
  return failed_compiling(VerdictClass::compile_error,
                          summarise_cuda_errors(log.substr(
                              0, static_cast<size_t>(options_.sandbox.settings.message_bytes))));
}

Result<Compiled> CudaCompiler::by_nvcc(const FileSet& files, Deadline deadline) const {
  return run_compiler(nvcc_jail(options_, files), options_.sandbox.settings.compile_timeout,
                      deadline, [this](JailExit exit) {
                        return exit.exit_code != 0 ? refused(exit.err)
                                                   : inspected(std::move(exit.out));
                      });
}

Result<Compiled> CudaCompiler::compile_fresh(const FileSet& files, Deadline deadline) {
  const auto timeout = options_.sandbox.settings.compile_timeout;
  const CudaSource source{files, device_source_file, flags(options_)};
  auto answer = pool_.compile(source, timeout, deadline);
  if (answer && answer->object && !answer->object->compiled &&
      lacks_implicit_names(answer->object->log)) {
    answer = pool_.compile(with_implicit_names(source), timeout, deadline);
  }
  if (!answer) return tl::unexpected(std::move(answer.error()));
  TRY_VOID(check_not_killed(answer->exit));
  Compiled result;
  if (!answer->object) {
    auto stopped = stopped_by_limit(answer->exit, timeout);
    result = stopped ? std::move(*stopped)
                     : failed_compiling(VerdictClass::compile_error, "the compiler crashed");
    result.lasting = false;
  } else if (answer->object->failed) {
    const std::string why = "the compiler failed: " + answer->object->log;
    result = failed_compiling(
        VerdictClass::compile_error,
        why.substr(0, static_cast<size_t>(options_.sandbox.settings.message_bytes)));
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
  if (auto unfit =
          unfit_sources(files, device_source_file, options_.sandbox.settings.source_bytes)) {
    return std::move(*unfit);
  }
  const std::string key = sha256_hex(toolchain_hash_ + content_of(files));
  return compile_once(cache_, key, [&] { return compile_fresh(files, deadline); });
}

}  // namespace warpsmith::sandbox
