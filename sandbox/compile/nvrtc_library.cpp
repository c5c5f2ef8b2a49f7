// SPDX-License-Identifier: Apache-2.0
#include "sandbox/compile/nvrtc_library.hpp"

#include <array>
#include <cstring>

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

}  // namespace

Result<NvrtcLibrary> NvrtcLibrary::load(const std::vector<std::string>& names) {
  auto library = cuda::DynamicLibrary::open(names);
  if (!library) return tl::unexpected(std::move(library.error()));
  for (const char* name : needed) {
    if (library->find(name) == nullptr) {
      return fail(ErrorCode::unsupported, names.front() + " has no " + name);
    }
  }
  NvrtcLibrary loaded{*library};
  int major = 0, minor = 0;
  library->function<int(int*, int*)>("nvrtcVersion")(&major, &minor);
  loaded.precompiles_ = library->find("nvrtcGetPCHCreateStatus") != nullptr;
  loaded.version_ = std::to_string(major) + "." + std::to_string(minor);
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

}  // namespace warpsmith::sandbox
