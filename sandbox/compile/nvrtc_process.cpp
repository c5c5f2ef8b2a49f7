// SPDX-License-Identifier: Apache-2.0
#include "sandbox/compile/nvrtc_process.hpp"

#include "runtime/codec.hpp"
#include "sandbox/compile/nvrtc_worker.hpp"
#include "sandbox/jail/own_program.hpp"
#include "sandbox/jail/presets.hpp"

namespace warpsmith::sandbox {
namespace {

/// A small source with precompiling options: NVRTC reserves memory for precompiled headers at the
/// first one, here before anything of a submission is in the process.
CudaSource warming(const NvrtcOptions& options) {
  CudaSource source{{{"warm.cu", "extern \"C\" __global__ void warm(int* x) { *x = 1; }"}},
                    "warm.cu",
                    options.flags};
  source.options.insert(source.options.end(), {"-pch", "-pch-dir=/tmp"});
  return source;
}

Result<JailSpec> worker_spec(const NvrtcOptions& options, int socket) {
  JailSpec spec = compile_jail();
  if (auto added = add_own_program(spec, options.program); !added) {
    return tl::unexpected(std::move(added.error()));
  }
  spec.argv = {own_program_path, "nvrtc"};
  spec.read_only.push_back({options.library_folder, nvrtc_folder});
  // NVRTC opens its own libraries by name alone.
  std::string& search = spec.environment["LD_LIBRARY_PATH"];
  search = search.empty() ? nvrtc_folder : nvrtc_folder + (":" + search);
  for (size_t i = 0; i < options.includes.size(); ++i) {
    spec.read_only.push_back({options.includes[i], include_path(i)});
  }
  if (!options.precompiled_folder.empty()) {
    spec.read_only.push_back({options.precompiled_folder, precompiled_path});
  }
  spec.descriptors = {{nvrtc_socket_fd, socket}};
  spec.limits = options.limits;
  spec.cores = options.cores;
  spec.same_addresses = true;
  return spec;
}

}  // namespace

std::string include_path(size_t index) {
  return "/include" + std::to_string(index);
}

Result<NvrtcProcess> start_nvrtc(const NvrtcOptions& options, const std::optional<Bind>& writable) {
  auto ends = FrameSocket::pair();
  if (!ends) return tl::unexpected(ends.error());
  auto spec = worker_spec(options, ends->second.fd());
  if (!spec) return tl::unexpected(spec.error());
  if (writable) spec->read_write.push_back(*writable);
  auto process = JailedProcess::start(*spec);
  if (!process) return fail("compile worker", process.error());
  NvrtcProcess worker{std::move(*process), std::move(ends->first)};
  // The frame fits the socket's buffer.
  const auto own = Deadline::after(std::chrono::milliseconds{1000});
  if (auto sent = worker.socket.send(codec::pack(warming(options)), own); !sent) {
    return tl::unexpected(std::move(sent.error()));
  }
  return worker;
}

}  // namespace warpsmith::sandbox
