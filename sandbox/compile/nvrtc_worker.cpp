// SPDX-License-Identifier: Apache-2.0
#include "sandbox/compile/nvrtc_worker.hpp"

#include <chrono>

#include "runtime/codec.hpp"
#include "runtime/process/frame_socket.hpp"

namespace warpsmith::sandbox {
namespace {

// Effectively unlimited: the socket closes when the owner ends.
constexpr std::chrono::hours patience{24};

Result<CudaSource> receive_source(FrameSocket& socket) {
  auto frame = socket.receive(Deadline::after(patience));
  if (!frame) return tl::unexpected(std::move(frame.error()));
  return codec::unpack<CudaSource>(*frame);
}

template <class T>
bool answer(FrameSocket& socket, const T& record) {
  return socket.send(codec::pack(record), Deadline::after(patience)).has_value();
}

NvrtcReady ready_of(const Result<NvrtcLibrary>& library, const CudaSource& warming) {
  if (!library) return {{}, library.error().message};
  const auto warm = library->compile(warming);
  if (!warm) return {library->version(), warm.error().message};
  return {library->version(), warm->compiled ? "" : warm->log};
}

}  // namespace

int run_nvrtc_worker() {
  FrameSocket socket{UniqueFd{nvrtc_socket_fd}};
  const auto library = NvrtcLibrary::load({std::string(nvrtc_folder) + "/libnvrtc.so.13",
                                           std::string(nvrtc_folder) + "/libnvrtc.so.12",
                                           std::string(nvrtc_folder) + "/libnvrtc.so"});
  const auto warming = receive_source(socket);
  if (!warming || !answer(socket, ready_of(library, *warming)) || !library) return 1;
  const auto source = receive_source(socket);
  if (!source || !source->files.contains(source->main)) return 1;
  auto object = library->compile(*source);
  if (!object) object = CudaObject{.failed = true, .log = object.error().message};
  return answer(socket, *object) ? 0 : 1;
}

}  // namespace warpsmith::sandbox
