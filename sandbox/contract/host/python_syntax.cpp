// SPDX-License-Identifier: Apache-2.0
#include "sandbox/contract/host/python_syntax.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "sandbox/jail/presets.hpp"

namespace warpsmith::sandbox {
namespace {

Result<JailSpec> syntax_jail(const FileSet& modules, const PythonSyntaxOptions& options) {
  auto spec = worker_jail(options.python);
  if (!spec) return spec;
  spec->argv.insert(spec->argv.end(), {"-I", "-S", "-B", "/worker/host_syntax.py"});
  spec->read_only.push_back({std::filesystem::absolute(options.worker_folder), "/worker"});
  spec->files["/modules.json"] =
      nlohmann::json(modules).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  spec->cores = options.cores;
  spec->limits = JailLimits{};
  spec->limits.cgroup_required = options.cgroup_required;
  return spec;
}

}  // namespace

Result<Compiled> parse_python(const FileSet& modules, const PythonSyntaxOptions& options,
                              Deadline deadline) {
  const auto jail = syntax_jail(modules, options);
  if (!jail) return tl::unexpected(jail.error());
  return run_compiler(*jail, options.timeout, deadline, [&](const JailExit& exit) {
    if (exit.exit_code == 0) return Compiled{};
    std::string why = exit.err.substr(0, options.message_bytes);
    while (why.ends_with('\n')) why.pop_back();
    return failed_compiling(VerdictClass::compile_error, why.empty() ? "the parser crashed" : why);
  });
}

}  // namespace warpsmith::sandbox
