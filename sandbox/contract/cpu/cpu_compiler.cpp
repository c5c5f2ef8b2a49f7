// SPDX-License-Identifier: Apache-2.0
#include "sandbox/contract/cpu/cpu_compiler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/bytes.hpp"
#include "runtime/clock.hpp"
#include "runtime/log.hpp"
#include "runtime/process/child.hpp"
#include "runtime/result.hpp"
#include "runtime/run/durable_file.hpp"
#include "runtime/run/owned_folder.hpp"
#include "runtime/submission.hpp"
#include "sandbox/compile/artefact_inspector.hpp"
#include "sandbox/compile/diagnostics.hpp"
#include "sandbox/contract/cpu/cpu_contract.hpp"
#include "sandbox/jail/jail.hpp"
#include "sandbox/jail/presets.hpp"

namespace warpsmith::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr const char* compiler = "/usr/bin/g++";
constexpr uint64_t most_object_bytes = 32ULL << 20U;
constexpr const char* prelude_file = "prelude.h";

// A precompiled header of the headers that kernels commonly include. <immintrin.h> takes 0.7 s of a
// compilation; with the precompiled header all of them take 0.1 s. warpsmith.h is not among them: a
// source that includes <math.h> would get its vector variants unasked.
constexpr const char* prelude_text =
    "#include <immintrin.h>\n"
    "#include <algorithm>\n"
    "#include <array>\n"
    "#include <cmath>\n"
    "#include <cstddef>\n"
    "#include <cstdint>\n"
    "#include <cstring>\n"
    "#include <limits>\n"
    "#include <numeric>\n"
    "#include <vector>\n";

struct PreludeOptions {
  std::string folder;  // of preludes, one for each toolchain
  std::string toolchain_hash;
  std::vector<std::string> command;  // compiler and flags of a later compilation, without files
  std::vector<int> cores;            // empty: the calling thread's
};

constexpr uint64_t most_prelude_bytes = 256ULL << 20U;

JailSpec prelude_jail(const PreludeOptions& options) {
  JailSpec spec = compile_jail();
  spec.argv = {"/bin/sh", "-c", "\"$@\" >&2 && exec cat /tmp/prelude.gch", "sh"};
  spec.argv.insert(spec.argv.end(), options.command.begin(), options.command.end());
  for (const char* more : {"-x", "c++-header", "/include/prelude.h", "-o", "/tmp/prelude.gch"}) {
    spec.argv.emplace_back(more);
  }
  spec.files[std::string("/include/") + prelude_file] = prelude_text;
  spec.limits.file_bytes = most_prelude_bytes;
  spec.limits.tmp_bytes = most_prelude_bytes;
  spec.limits.output_bytes = most_prelude_bytes;
  spec.cores = options.cores;
  return spec;
}

/// Removes headers of 50 MB each that were not used for a week. Another version of this program may
/// use younger ones.
void remove_forgotten(const fs::path& folder) {
  constexpr std::chrono::hours kept{7 * 24};
  OwnedFolder::sweep(folder);
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    std::error_code ignored;
    const auto used = entry.last_write_time(ignored);
    if (!ignored && fs::file_time_type::clock::now() - used > kept) {
      fs::remove(entry.path(), ignored);
    }
  }
}

/// Makes `prelude.h.gch` in the compile jail unless the folder holds one; returns its path.
Result<std::string> prelude_for(const PreludeOptions& options, Deadline deadline) {
  const fs::path path = fs::path(options.folder) / (options.toolchain_hash + ".gch");
  std::error_code error;
  if (fs::exists(path, error)) {
    fs::last_write_time(path, fs::file_time_type::clock::now(),
                        error);  // keeps it from being removed
    return path.string();
  }
  TRY(const auto exit, run_jailed(prelude_jail(options), deadline));
  if (exit.exit_code != 0 || exit.output_cut || exit.timed_out) {
    return fail(ErrorCode::process_failed, "precompiled header: " + exit.err.substr(0, 500));
  }
  fs::create_directories(path.parent_path(), error);
  if (auto written = write_file_whole(path, exit.out); !written) {
    return fail("precompiled header", std::move(written.error()));
  }
  remove_forgotten(path.parent_path());
  return path.string();
}

/// Shows the prelude to the compiler in the jail.
void add_prelude(JailSpec& spec, const std::string& precompiled) {
  const std::string inside = std::string("/include/") + prelude_file;
  spec.files[inside] = prelude_text;
  spec.read_only.push_back({precompiled, inside + ".gch"});
}

bool is_header(const std::string& name) {
  return name.ends_with(".h") || name.ends_with(".hpp") || name.ends_with(".inc");
}

/// The files of a submission that the compiler sees. Others must not change the cache key.
FileSet visible_to_compiler(const FileSet& files) {
  FileSet visible;
  for (const auto& file : files) {
    if (file.first == cpu_source_file || is_header(file.first)) visible.insert(file);
  }
  return visible;
}

/// The compiler and its flags, all chosen by the judge. -w keeps warnings from crowding out errors.
std::vector<std::string> compiler_and_flags() {
  std::vector<std::string> line{compiler};
  for (const std::string& flag : cpu_compile_flags()) line.push_back(flag);
  for (const char* flag : {"-w", "-pipe", "-fmax-errors=5", "-fdiagnostics-color=never",
                           "-fno-diagnostics-show-caret", "-I/include"}) {
    line.emplace_back(flag);
  }
  return line;
}

std::vector<std::string> command_line(bool with_prelude) {
  // The artefact goes through a private tmpfs, because a linker cannot write to a pipe.
  std::vector<std::string> line{"/bin/sh", "-c", "\"$@\" >&2 && exec cat /tmp/kernel.so", "sh"};
  for (std::string& part : compiler_and_flags()) line.push_back(std::move(part));
  if (with_prelude) line.insert(line.end(), {"-include", prelude_file});
  line.insert(line.end(), {"-o", "/tmp/kernel.so", cpu_source_file});
  for (const std::string& flag : cpu_link_flags()) line.push_back(flag);
  return line;
}

/// A hash of the compiler's version, of what -march=native means here, and of all that the judge
/// adds.
Result<std::string> identify_toolchain() {
  ChildSpec ask;
  ask.argv = {compiler, "-march=native", "-x", "c++", "-E", "-v", "-"};
  ask.environment = compile_jail().environment;  // a user's variables do not reach the jail
  const auto answer = run_child(ask, Deadline::after(std::chrono::seconds{30}));
  if (!answer || answer->exit_code != 0) {
    return fail(ErrorCode::unsupported, std::string("compiler ") + compiler + ": " +
                                            (answer ? answer->err : answer.error().message));
  }
  std::string all = answer->err + cpu_header_text + prelude_text;
  for (const std::string& part : command_line(true)) all += '\n' + part;
  return sha256_hex(all);
}

Compiled inspected(std::string artefact) {
  const auto facts = read_artefact(artefact);
  if (!facts) return failed_compiling(VerdictClass::banned_construct, facts.error().message);
  if (auto objection = objection_to(*facts, cpu_entry_point)) {
    return failed_compiling(objection->outcome, std::move(objection->text));
  }
  Compiled result;
  result.artefact = std::move(artefact);
  return result;
}

}  // namespace

bool wants_prelude(const FileSet& files) {
  return std::any_of(files.begin(), files.end(), [](const auto& file) {
    const std::string& text = file.second;
    for (size_t at = text.find("#include <"); at != std::string::npos;
         at = text.find("#include <", at + 1)) {
      const std::string name = text.substr(at + 10, text.find('>', at) - at - 10);
      if (name != "cstdint" && name != "stdint.h" && name != "stddef.h" && name != "cstddef") {
        return true;
      }
    }
    return false;
  });
}

CpuCompiler::CpuCompiler(SandboxOptions options, CompileCache cache, std::string toolchain_hash)
    : options_(std::move(options)),
      cache_(std::move(cache)),
      toolchain_hash_(std::move(toolchain_hash)) {}

Result<CpuCompiler> CpuCompiler::create(SandboxOptions options) {
  TRY(auto toolchain, identify_toolchain());
  TRY(auto cache,
      CompileCache::open(options.compiled_folder(), options.settings.compile_cache_bytes));
  CpuCompiler made{std::move(options), std::move(cache), std::move(toolchain)};
  made.make_prelude_ready();
  return made;
}

void CpuCompiler::make_prelude_ready() {
  auto path = prelude_for({.folder = options_.compiled_folder() + "-prelude",
                           .toolchain_hash = toolchain_hash_,
                           .command = compiler_and_flags(),
                           .cores = options_.cores},
                          Deadline::after(std::chrono::seconds{60}));
  if (path) {
    prelude_ = std::move(*path);
  } else {
    prelude_.clear();
    log::warn("compiling without a precompiled header: " + path.error().message);
  }
}

JailSpec CpuCompiler::jail_for(const FileSet& files) const {
  JailSpec spec = compile_jail();
  const bool with_prelude = !prelude_.empty() && wants_prelude(files);
  spec.argv = command_line(with_prelude);
  if (with_prelude) add_prelude(spec, prelude_);
  spec.directory = "/src";
  spec.cores = options_.cores;
  spec.limits = {.memory_bytes = 1ULL << 30U,
                 .processes = static_cast<uint32_t>(options_.settings.compile_tasks),
                 .file_bytes = most_object_bytes,
                 .output_bytes = most_object_bytes,  // the artefact comes on standard output
                 .cgroup_required = options_.settings.require_cgroups};
  for (const auto& [name, content] : files) spec.files["/src/" + name] = content;
  spec.files[std::string("/include/") + cpu_header_file] = cpu_header_text;
  return spec;
}

Compiled CpuCompiler::result_of(JailExit exit) const {
  if (exit.exit_code != 0) {
    if (auto large = too_large_a_file(exit, most_object_bytes)) return std::move(*large);
    exit.err.resize(
        std::min(exit.err.size(), static_cast<size_t>(options_.settings.message_bytes)));
    return failed_compiling(VerdictClass::compile_error, summarise_errors(exit.err));
  }
  if (!exit.output_cut) return inspected(std::move(exit.out));
  return failed_compiling(VerdictClass::compile_error,
                          fmt::format("the shared object exceeds {} bytes", most_object_bytes));
}

Result<Compiled> CpuCompiler::compile_fresh(const FileSet& files, Deadline deadline) {
  // The folder is shared, so a user may have emptied it.
  if (!prelude_.empty() && !std::filesystem::exists(prelude_)) make_prelude_ready();
  return run_compiler(jail_for(files), options_.settings.compile_timeout, deadline,
                      [this](JailExit exit) { return result_of(std::move(exit)); });
}

Result<Compiled> CpuCompiler::compile(const FileSet& submitted, Deadline deadline) {
  const FileSet files = visible_to_compiler(submitted);
  if (auto unfit = unfit_sources(files, cpu_source_file, options_.settings.source_bytes)) {
    return std::move(*unfit);
  }
  const std::string key = sha256_hex(toolchain_hash_ + content_of(files));
  return compile_once(cache_, key, [&] { return compile_fresh(files, deadline); });
}

}  // namespace warpsmith::sandbox
