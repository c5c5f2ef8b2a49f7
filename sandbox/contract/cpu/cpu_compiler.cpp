// SPDX-License-Identifier: Apache-2.0
#include "sandbox/contract/cpu/cpu_compiler.hpp"

#include <algorithm>
#include <filesystem>

#include "runtime/checksum.hpp"
#include "runtime/log.hpp"
#include "runtime/process/child.hpp"
#include "sandbox/compile/artefact_inspector.hpp"
#include "sandbox/compile/diagnostics.hpp"
#include "sandbox/compile/prelude.hpp"
#include "sandbox/contract/cpu/cpu_contract.hpp"
#include "sandbox/jail/presets.hpp"

namespace warpsmith::sandbox {
namespace {

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

/// The compiler and its flags, all of them ours. -w keeps warnings from crowding out errors.
std::vector<std::string> compiler_and_flags(const std::string& compiler) {
  std::vector<std::string> line{compiler};
  for (const std::string& flag : cpu_compile_flags()) line.push_back(flag);
  for (const char* flag : {"-w", "-pipe", "-fmax-errors=5", "-fdiagnostics-color=never",
                           "-fno-diagnostics-show-caret", "-I/include"}) {
    line.emplace_back(flag);
  }
  return line;
}

std::vector<std::string> command_line(const std::string& compiler, bool with_prelude) {
  // The artefact goes through a private tmpfs, because a linker cannot write to a pipe.
  std::vector<std::string> line{"/bin/sh", "-c", "\"$@\" >&2 && exec cat /tmp/kernel.so", "sh"};
  for (std::string& part : compiler_and_flags(compiler)) line.push_back(std::move(part));
  if (with_prelude) line.insert(line.end(), {"-include", prelude_file});
  line.insert(line.end(), {"-o", "/tmp/kernel.so", cpu_source_file});
  for (const std::string& flag : cpu_link_flags()) line.push_back(flag);
  return line;
}

/// A hash of the compiler's version, of what -march=native means here, and of all that we add.
Result<std::string> identify_toolchain(const std::string& compiler) {
  ChildSpec ask;
  ask.argv = {compiler, "-march=native", "-x", "c++", "-E", "-v", "-"};
  ask.environment = compile_jail().environment;  // a user's variables do not reach the jail
  const auto answer = run_child(ask, Deadline::after(std::chrono::seconds{30}));
  if (!answer || answer->exit_code != 0) {
    return fail(ErrorCode::unsupported,
                "compiler " + compiler + ": " + (answer ? answer->err : answer.error().message));
  }
  std::string all = answer->err + cpu_header_text + prelude_text;
  for (const std::string& part : command_line(compiler, true)) all += '\n' + part;
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

CpuCompiler::CpuCompiler(CompilerOptions options, CompileCache cache, std::string toolchain_hash)
    : options_(std::move(options)),
      cache_(std::move(cache)),
      toolchain_hash_(std::move(toolchain_hash)) {}

Result<CpuCompiler> CpuCompiler::create(CompilerOptions options) {
  auto toolchain = identify_toolchain(options.compiler);
  if (!toolchain) return tl::unexpected(std::move(toolchain.error()));
  auto cache = CompileCache::open(options.cache_dir, options.cache_bytes);
  if (!cache) return tl::unexpected(std::move(cache.error()));
  CpuCompiler made{std::move(options), std::move(*cache), std::move(*toolchain)};
  made.ready_prelude();
  return made;
}

void CpuCompiler::ready_prelude() {
  auto path = sandbox::ready_prelude({.folder = options_.cache_dir + "-prelude",
                                      .toolchain_hash = toolchain_hash_,
                                      .command = compiler_and_flags(options_.compiler),
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
  spec.limits = options_.limits;
  const bool with_prelude = !prelude_.empty() && wants_prelude(files);
  spec.argv = command_line(options_.compiler, with_prelude);
  if (with_prelude) add_prelude(spec, prelude_);
  spec.directory = "/src";
  spec.cores = options_.cores;
  spec.limits.output_bytes = options_.limits.file_bytes;  // the artefact comes on standard output
  for (const auto& [name, content] : files) spec.files["/src/" + name] = content;
  spec.files[std::string("/include/") + cpu_header_file] = cpu_header_text;
  return spec;
}

Compiled CpuCompiler::judged(JailExit exit) const {
  if (exit.exit_code != 0) {
    if (auto large = too_large_a_file(exit, options_.limits.file_bytes)) return std::move(*large);
    exit.err.resize(std::min<size_t>(exit.err.size(), options_.message_bytes));
    return failed_compiling(VerdictClass::compile_error, summarise_errors(exit.err));
  }
  if (!exit.output_cut) return inspected(std::move(exit.out));
  return failed_compiling(
      VerdictClass::compile_error,
      "the shared object exceeds " + std::to_string(options_.limits.file_bytes) + " bytes");
}

Result<Compiled> CpuCompiler::compile_fresh(const FileSet& files, Deadline deadline) {
  // The folder is shared, so a user may have emptied it.
  if (!prelude_.empty() && !std::filesystem::exists(prelude_)) ready_prelude();
  return run_compiler(jail_for(files), options_.timeout, deadline,
                      [this](JailExit exit) { return judged(std::move(exit)); });
}

Result<Compiled> CpuCompiler::compile(const FileSet& submitted, Deadline deadline) {
  const FileSet files = visible_to_compiler(submitted);
  if (auto unfit = unfit_sources(files, cpu_source_file, options_.source_bytes)) {
    return std::move(*unfit);
  }
  const std::string key = sha256_hex(toolchain_hash_ + content_of(files));
  return compile_once(cache_, key, [&] { return compile_fresh(files, deadline); });
}

}  // namespace warpsmith::sandbox
