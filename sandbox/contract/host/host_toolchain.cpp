// SPDX-License-Identifier: Apache-2.0
#include "sandbox/contract/host/host_toolchain.hpp"

#include <filesystem>
#include <sstream>

#include "runtime/process/child.hpp"
#include "runtime/run/durable_file.hpp"
#include "sandbox/jail/presets.hpp"

namespace warpsmith::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr const char* script =
    "import importlib.util, sysconfig\n"
    "torch = importlib.util.find_spec('torch')\n"
    "print(sysconfig.get_paths()['include'])\n"
    "print(torch.submodule_search_locations[0] if torch else '')\n";

Result<std::string> answer_of(const std::string& python) {
  ChildSpec ask;
  ask.argv = {python, "-I", "-c", script};
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

}  // namespace

Result<HostToolchain> find_host_toolchain(const std::string& python, const std::string& cuda_root) {
  auto answer = answer_of(python);
  if (!answer) return tl::unexpected(std::move(answer.error()));
  HostToolchain found{.python = python};
  std::istringstream lines{*answer};
  std::getline(lines, found.python_headers);
  std::getline(lines, found.torch);
  const fs::path torch = found.torch;
  if (found.torch.empty() || !is_there(torch / "include/torch/extension.h")) {
    return fail(ErrorCode::unsupported, "no headers of torch beside " + python);
  }
  if (!is_there(fs::path(found.python_headers) / "Python.h")) {
    return fail(ErrorCode::unsupported, "no Python.h in " + found.python_headers);
  }
  constexpr size_t most_bytes = 64U << 10U;
  auto version = read_text_file(torch / "version.py", most_bytes);
  if (!version) return tl::unexpected(std::move(version.error()));
  found.torch_version = std::move(*version);
  found.torch_has_cuda = is_there(torch / "lib/libtorch_cuda.so");
  found.cuda = toolkit_in(cuda_root);
  return found;
}

}  // namespace warpsmith::sandbox
