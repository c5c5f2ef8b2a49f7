// SPDX-License-Identifier: Apache-2.0
#include "sandbox/compile/prelude.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "runtime/run/durable_file.hpp"
#include "runtime/run/owned_folder.hpp"
#include "sandbox/jail/presets.hpp"

namespace warpsmith::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t largest_bytes = 256ULL << 20U;

JailSpec prelude_jail(const PreludeOptions& options) {
  JailSpec spec = compile_jail();
  spec.argv = {"/bin/sh", "-c", "\"$@\" >&2 && exec cat /tmp/prelude.gch", "sh"};
  spec.argv.insert(spec.argv.end(), options.command.begin(), options.command.end());
  for (const char* more : {"-x", "c++-header", "/include/prelude.h", "-o", "/tmp/prelude.gch"}) {
    spec.argv.emplace_back(more);
  }
  spec.files[std::string("/include/") + prelude_file] = prelude_text;
  spec.limits.file_bytes = largest_bytes;
  spec.limits.tmp_bytes = largest_bytes;
  spec.limits.output_bytes = largest_bytes;
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

}  // namespace

// Not warpsmith.h: a source that includes <math.h> would get its vector variants unasked.
const char* const prelude_text =
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

Result<std::string> ready_prelude(const PreludeOptions& options, Deadline deadline) {
  const fs::path path = fs::path(options.folder) / (options.toolchain_hash + ".gch");
  std::error_code error;
  if (fs::exists(path, error)) {
    fs::last_write_time(path, fs::file_time_type::clock::now(),
                        error);  // keeps it from being removed
    return path.string();
  }
  const auto exit = run_jailed(prelude_jail(options), deadline);
  if (!exit) return tl::unexpected(exit.error());
  if (exit->exit_code != 0 || exit->output_cut || exit->timed_out) {
    return fail(ErrorCode::process_failed, "precompiled header: " + exit->err.substr(0, 500));
  }
  fs::create_directories(path.parent_path(), error);
  if (auto written = write_file_whole(path, exit->out); !written) {
    return fail("precompiled header", std::move(written.error()));
  }
  remove_forgotten(path.parent_path());
  return path.string();
}

void add_prelude(JailSpec& spec, const std::string& precompiled) {
  const std::string inside = std::string("/include/") + prelude_file;
  spec.files[inside] = prelude_text;
  spec.read_only.push_back({precompiled, inside + ".gch"});
}

}  // namespace warpsmith::sandbox
