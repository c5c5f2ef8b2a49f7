// SPDX-License-Identifier: Apache-2.0
#include "sandbox/contract/host/host_commands.hpp"

#include "sandbox/contract/host/host_registry.hpp"
#include "sandbox/contract/host/host_submission.hpp"

namespace warpsmith::sandbox {
namespace {

/// Quoting guards against spaces alone: folders come from this machine, names from us.
std::string quoted(const std::string& text) {
  return "'" + text + "'";
}

std::string joined(const std::vector<std::string>& flags) {
  std::string out;
  for (const std::string& flag : flags) out += ' ' + flag;
  return out;
}

std::string common_flags(const HostBuild& build) {
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

std::string libraries(const HostBuild& build) {
  const HostToolchain& chain = build.toolchain;
  std::string flags =
      " -L" + quoted(chain.torch + "/lib") + " -lc10 -ltorch_cpu -ltorch -ltorch_python";
  if (chain.torch_has_cuda) flags += " -lc10_cuda -ltorch_cuda";
  if (!chain.cuda.empty()) flags += std::string(" -L") + jail_toolkit + "/lib64 -lcudart";
  return flags;
}

}  // namespace

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

std::string host_compile_script(const HostBuild& build) {
  const LibraryBuild flags = host_library_build();
  const std::string code = "arch=compute_" + build.architecture + ",code=sm_" + build.architecture;
  // No name holds a '+', so every source has an object of its own.
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

std::string host_build_script(const HostBuild& build) {
  return "mkdir /tmp/objects || exit 1\n"
         "printf '%s\\n' \"$@\" | xargs -P " +
         std::to_string(build.jobs) +
         " -n 1 /bin/sh /build/compile.sh || exit 1\n"
         "/usr/bin/g++ -shared -o /tmp/extension.so /tmp/objects/*.o" +
         libraries(build) +
         " >&2 || exit 1\n"
         "exec cat /tmp/extension.so\n";
}

}  // namespace warpsmith::sandbox
