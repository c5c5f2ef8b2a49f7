// SPDX-License-Identifier: Apache-2.0
#include "actors/bench/kernel_sources.hpp"

#include <unistd.h>

#include "runtime/environment.hpp"
#include "runtime/process/child.hpp"
#include "runtime/run/durable_file.hpp"

namespace warpsmith::actors {
namespace {

constexpr size_t max_source_bytes = size_t{4} << 20U;

namespace fs = std::filesystem;

/// A folder of this process below the system's temporary one; removed at the end.
class ScratchFolder {
 public:
  ScratchFolder()
      : path_(fs::temp_directory_path() / ("warpsmith-kernels-" + std::to_string(::getpid()))) {
    fs::create_directories(path_);
  }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

ChildSpec script_of(const std::vector<std::string>& folders, const std::vector<std::string>& styles,
                    const fs::path& output) {
  ChildSpec spec;
  spec.argv = {python_interpreter().string(),
               (source_folder() / "scripts" / "write_kernels.py").string(), "--tasks"};
  spec.argv.insert(spec.argv.end(), folders.begin(), folders.end());
  spec.argv.emplace_back("--styles");
  spec.argv.insert(spec.argv.end(), styles.begin(), styles.end());
  spec.argv.insert(spec.argv.end(), {"--output", output.string()});
  return spec;
}

Result<KernelSources> read_sources(const fs::path& output, const std::vector<std::string>& styles) {
  KernelSources sources;
  for (const fs::directory_entry& task : fs::directory_iterator(output)) {
    for (const std::string& style : styles) {
      auto text = read_text_file(task.path() / (style + ".cpp"), max_source_bytes);
      if (!text) return tl::unexpected(std::move(text.error()));
      sources[task.path().filename().string()].push_back(std::move(*text));
    }
  }
  return sources;
}

}  // namespace

Result<KernelSources> write_kernels(const std::vector<std::string>& folders,
                                    const std::vector<std::string>& styles) {
  const ScratchFolder scratch;
  auto exit = run_child(script_of(folders, styles, scratch.path()),
                        Deadline::after(std::chrono::minutes{3}));
  if (!exit) return fail("kernels", std::move(exit.error()));
  if (exit->timed_out) return fail(ErrorCode::timeout, "kernels: the script took over 3 minutes");
  if (exit->exit_code != 0) {
    return fail(ErrorCode::infrastructure, "scripts/write_kernels.py: exit code " +
                                               std::to_string(exit->exit_code) + ": " + exit->err);
  }
  return read_sources(scratch.path(), styles);
}

}  // namespace warpsmith::actors
