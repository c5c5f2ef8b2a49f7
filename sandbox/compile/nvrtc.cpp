// SPDX-License-Identifier: Apache-2.0
#include "sandbox/compile/nvrtc.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstring>

#include "runtime/codec.hpp"
#include "runtime/process/frame_socket.hpp"
#include "sandbox/jail/presets.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr int refused_source = 6;  // NVRTC_ERROR_COMPILATION

using Program = void*;
using TextSize = int(Program, size_t*);
using TextOf = int(Program, char*);

constexpr std::array<const char*, 9> needed{
    "nvrtcVersion",           "nvrtcCreateProgram",  "nvrtcCompileProgram",
    "nvrtcGetProgramLogSize", "nvrtcGetProgramLog",  "nvrtcGetCUBINSize",
    "nvrtcGetCUBIN",          "nvrtcDestroyProgram", "nvrtcGetErrorString"};

std::string read_text(const cuda::DynamicLibrary& library, Program program, const char* size_name,
                      const char* text_name) {
  size_t bytes = 0;
  if (library.function<TextSize>(size_name)(program, &bytes) != 0 || bytes == 0) return {};
  std::string text(bytes, '\0');
  if (library.function<TextOf>(text_name)(program, text.data()) != 0) return {};
  return text;
}

bool is_precompiling_option(const std::string& option) {
  return option.starts_with("-pch") || option.starts_with("-use-pch") ||
         option.starts_with("-create-pch");
}

/// Names and contents of all files but the compiled one.
struct Headers {
  explicit Headers(const CudaSource& source) {
    for (const auto& [name, content] : source.files) {
      if (name == source.main) continue;
      names.push_back(name.c_str());
      contents.push_back(content.c_str());
    }
  }
  std::vector<const char*> names, contents;
};

// Effectively unlimited: the socket closes when the owner ends.
constexpr std::chrono::hours patience{24};

Result<CudaSource> receive_source(FrameSocket& socket) {
  TRY(auto frame, socket.receive(Deadline::after(patience)));
  return codec::unpack<CudaSource>(frame);
}

template <class T>
bool answer(FrameSocket& socket, const T& record) {
  return socket.send(codec::pack(record), Deadline::after(patience)).has_value();
}

NvrtcReady ready_of(const Result<NvrtcLibrary>& library, const CudaSource& source) {
  if (!library) return {{}, library.error().message};
  const auto warm = library->compile(source);
  if (!warm) return {library->version(), warm.error().message};
  return {library->version(), warm->compiled ? "" : warm->log};
}

/// A small source with precompiling options: NVRTC reserves memory for precompiled headers at the
/// first one. Here that happens before any part of a submission is in the process.
CudaSource warm_up_source(const NvrtcOptions& options) {
  CudaSource source{{{"warm.cu", "extern \"C\" __global__ void warm(int* x) { *x = 1; }"}},
                    "warm.cu",
                    options.flags};
  source.options.insert(source.options.end(), {"-pch", "-pch-dir=/tmp"});
  return source;
}

Result<JailSpec> worker_spec(const NvrtcOptions& options, int socket) {
  JailSpec spec = compile_jail();
  TRY_VOID(add_own_program(spec, options.program));
  spec.argv = {own_program_path, "nvrtc"};
  spec.read_only.push_back({options.library_folder, nvrtc_folder});
  // NVRTC opens its own libraries by name, without a folder.
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
  spec.fixed_addresses = true;
  return spec;
}

}  // namespace

Result<NvrtcLibrary> NvrtcLibrary::load(const std::vector<std::string>& names) {
  TRY(auto library, cuda::DynamicLibrary::open(names));
  for (const char* name : needed) {
    if (library.find(name) == nullptr) {
      return fail(ErrorCode::unsupported, names.front() + " has no " + name);
    }
  }
  NvrtcLibrary loaded{library};
  int major = 0, minor = 0;
  library.function<int(int*, int*)>("nvrtcVersion")(&major, &minor);
  loaded.precompiles_ = library.find("nvrtcGetPCHCreateStatus") != nullptr;
  loaded.version_ = fmt::format("{}.{}", major, minor);
  return loaded;
}

Result<CudaObject> NvrtcLibrary::compile(const CudaSource& source) const {
  using Create =
      int(Program*, const char*, const char*, int, const char* const*, const char* const*);
  const Headers headers(source);
  Program program = nullptr;
  const int created = library_.function<Create>("nvrtcCreateProgram")(
      &program, source.files.at(source.main).c_str(), source.main.c_str(),
      static_cast<int>(headers.names.size()), headers.contents.data(), headers.names.data());
  if (created != 0) {
    return fail(ErrorCode::process_failed,
                std::string("nvrtc: ") +
                    library_.function<const char*(int)>("nvrtcGetErrorString")(created));
  }
  std::vector<const char*> options;
  options.reserve(source.options.size());
  for (const std::string& option : source.options) {
    if (precompiles_ || !is_precompiling_option(option)) options.push_back(option.c_str());
  }
  using Compile = int(Program, int, const char* const*);
  const int status = library_.function<Compile>("nvrtcCompileProgram")(
      program, static_cast<int>(options.size()), options.data());
  CudaObject object{.compiled = status == 0, .failed = status != 0 && status != refused_source};
  object.log = read_text(library_, program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog");
  object.log.resize(std::strlen(object.log.c_str()));  // its size includes the zero byte
  if (object.failed) {
    object.log = library_.function<const char*(int)>("nvrtcGetErrorString")(status) +
                 (object.log.empty() ? "" : ": " + object.log);
  }
  if (object.compiled) {
    object.cubin = read_text(library_, program, "nvrtcGetCUBINSize", "nvrtcGetCUBIN");
  }
  library_.function<int(Program*)>("nvrtcDestroyProgram")(&program);
  return object;
}

int run_nvrtc_worker() {
  FrameSocket socket{UniqueFd{nvrtc_socket_fd}};
  const auto library = NvrtcLibrary::load({std::string(nvrtc_folder) + "/libnvrtc.so.13",
                                           std::string(nvrtc_folder) + "/libnvrtc.so.12",
                                           std::string(nvrtc_folder) + "/libnvrtc.so"});
  const auto warm_up = receive_source(socket);
  if (!warm_up || !answer(socket, ready_of(library, *warm_up)) || !library) return 1;
  const auto source = receive_source(socket);
  if (!source || !source->files.contains(source->main)) return 1;
  auto object = library->compile(*source);
  if (!object) object = CudaObject{.failed = true, .log = object.error().message};
  return answer(socket, *object) ? 0 : 1;
}

std::string include_path(size_t index) {
  return fmt::format("/include{}", index);
}

Result<NvrtcProcess> start_nvrtc(const NvrtcOptions& options, const std::optional<Bind>& writable) {
  TRY(auto ends, FrameSocket::pair());
  TRY(auto spec, worker_spec(options, ends.second.fd()));
  if (writable) spec.read_write.push_back(*writable);
  auto process = JailedProcess::start(spec);
  if (!process) return fail("compile worker", process.error());
  NvrtcProcess worker{std::move(*process), std::move(ends.first)};
  // The frame fits the socket's buffer.
  const auto own = Deadline::after(std::chrono::milliseconds{1000});
  TRY_VOID(worker.socket.send(codec::pack(warm_up_source(options)), own));
  return worker;
}

}  // namespace warpsmith::sandbox
