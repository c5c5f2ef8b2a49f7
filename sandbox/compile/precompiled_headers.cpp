// SPDX-License-Identifier: Apache-2.0
#include "sandbox/compile/precompiled_headers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include "runtime/bytes.hpp"
#include "runtime/codec.hpp"
#include "runtime/log.hpp"
#include "sandbox/compile/cuda_toolchain.hpp"
#include "sandbox/compile/nvrtc.hpp"

namespace warpsmith::sandbox {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr size_t most_headers = 16, longest_name = 64;

bool is_space(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0;
}

/// Removes spaces and comments from the front; false if a comment does not end.
bool skip_blank(std::string_view& text) {
  while (!text.empty()) {
    if (is_space(text.front())) {
      text.remove_prefix(1);
    } else if (text.starts_with("//")) {
      text.remove_prefix(std::min(text.find('\n'), text.size()));
    } else if (text.starts_with("/*")) {
      const size_t end = text.find("*/", 2);
      if (end == std::string_view::npos) return false;
      text.remove_prefix(end + 2);
    } else {
      break;
    }
  }
  return true;
}

/// Whether a line may end with a backslash that joins it to the next. Some compilers allow spaces
/// after it, some know the trigraph "??/".
bool joins_lines(std::string_view text) {
  for (size_t end = text.find('\n'); end != text.npos; end = text.find('\n', end + 1)) {
    const std::string_view line = text.substr(0, end);
    const std::string_view upto = line.substr(0, line.find_last_not_of(" \t\r\v\f") + 1);
    if (upto.ends_with('\\') || upto.ends_with("?\?/")) return true;
  }
  return false;
}

bool is_name(std::string_view name) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '/' || c == '.';
  };
  return !name.empty() && name.size() <= longest_name && name.front() != '/' &&
         name.find("..") == std::string_view::npos && std::ranges::all_of(name, plain);
}

/// Removes "#include <NAME>" with the rest of its line from the front and returns NAME; empty, with
/// nothing removed, if the text begins otherwise.
std::string_view take_include(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  std::string_view rest = line;
  const auto skip = [&rest](std::string_view word) {
    while (!rest.empty() && (rest.front() == ' ' || rest.front() == '\t')) rest.remove_prefix(1);
    const bool there = rest.starts_with(word);
    if (there) rest.remove_prefix(word.size());
    return there;
  };
  if (!skip("#") || !skip("include") || !skip("<")) return {};
  const size_t end = rest.find('>');
  const std::string_view name = rest.substr(0, end);
  if (end == std::string_view::npos || !is_name(name)) return {};
  std::string_view behind = rest.substr(end + 1);
  if (!skip_blank(behind) || !behind.empty()) return {};
  text.remove_prefix(line.size());
  return name;
}

constexpr int requests_before_making = 2, most_misfits = 2;
constexpr size_t most_names = 4096;  // with a count of requests
constexpr uint64_t largest_file = 256ULL << 20U;
constexpr seconds making_timeout{60};
constexpr const char* making_path = "/making";  // in the maker's jail
// NVRTC's number for a source that begins with other headers: the file may be good.
constexpr const char* other_directives = "#630-D";

/// Reads the two answers of a worker that has ended: that it was warm, and whether it compiled.
bool has_compiled(FrameSocket& socket) {
  const auto soon = Deadline::after(seconds{1});
  if (!socket.receive(soon)) return false;
  const auto frame = socket.receive(soon);
  if (!frame) return false;
  const auto object = codec::unpack<CudaObject>(*frame);
  return object && object->compiled;
}

NvrtcOptions maker_options(NvrtcOptions options) {
  options.limits.file_bytes = largest_file;
  return options;
}

}  // namespace

std::string leading_headers(const FileSet& files, const std::string& main) {
  const auto found = files.find(main);
  if (found == files.end() || files.size() != 1) return {};
  const std::string_view whole = found->second;
  std::string_view text = whole;
  std::string lines;
  size_t taken = 0;
  for (size_t count = 0; count < most_headers && skip_blank(text); ++count) {
    const std::string_view name = take_include(text);
    if (name.empty()) break;
    lines.append("#include <").append(name).append(">\n");
    taken = whole.size() - text.size();
  }
  return joins_lines(whole.substr(0, taken)) ? "" : lines;
}

PrecompiledHeaders::PrecompiledHeaders(NvrtcOptions options, uint64_t max_bytes)
    : options_(maker_options(std::move(options))),
      folder_(options_.precompiled_folder),
      max_bytes_(max_bytes),
      // Another build of this program places its memory differently.
      identity_(file_stamp(options_.program) + options_.library_folder) {
  for (const std::string& text : options_.includes) identity_ += '\n' + text;
  for (const std::string& text : options_.flags) identity_ += '\n' + text;
}

Result<PrecompiledHeaders> PrecompiledHeaders::open(NvrtcOptions options, uint64_t max_bytes) {
  PrecompiledHeaders headers{std::move(options), max_bytes};
  if (headers.folder_.empty()) return headers;
  std::error_code error;
  fs::create_directories(headers.folder_, error);
  if (error) {
    return fail(ErrorCode::io_failed,
                "precompiled headers " + headers.folder_.string() + ": " + error.message());
  }
  OwnedFolder::sweep(headers.folder_);
  return headers;
}

std::string PrecompiledHeaders::name_of(const std::string& headers) const {
  return sha256_hex(identity_ + '\n' + headers) + ".pch";
}

std::string PrecompiledHeaders::option_for(const std::string& headers) {
  if (folder_.empty() || headers.empty() || misfits_ >= most_misfits) return {};
  const std::string name = name_of(headers);
  std::error_code error;
  if (fs::exists(kept(name), error)) {
    fs::last_write_time(kept(name), fs::file_time_type::clock::now(), error);
    return "-use-pch=" + std::string(precompiled_path) + '/' + name;
  }
  if (requests_.size() >= most_names) requests_.clear();
  if (++requests_[name] == requests_before_making && !making_) begin(headers);
  return {};
}

void PrecompiledHeaders::note_use(const std::string& headers, const std::string& compiler_log) {
  if (compiler_log.find("using precompiled header") != std::string::npos) {
    misfits_ = 0;
    return;
  }
  if (compiler_log.find(other_directives) != std::string::npos) return;
  remove(headers);
  if (++misfits_ < most_misfits) return;
  log::info("NVRTC takes no precompiled headers here: " + compiler_log.substr(0, 200));
}

void PrecompiledHeaders::remove(const std::string& headers) const {
  std::error_code error;
  fs::remove(kept(name_of(headers)), error);
}

void PrecompiledHeaders::begin(const std::string& headers) {
  auto folder = OwnedFolder::make(folder_);
  if (!folder) return log::warn("precompiled headers: " + folder.error().message);
  auto worker = start_nvrtc(options_, Bind{folder->path().string(), making_path});
  if (!worker) return log::warn("precompiled headers: " + worker.error().message);
  std::string name = name_of(headers);
  CudaSource source{{{"headers.cu", headers}}, "headers.cu", options_.flags};
  source.options.push_back("-create-pch=" + std::string(making_path) + '/' + name);
  // The frame waits in the socket's buffer until the worker is warm.
  auto sent = worker->socket.send(codec::pack(source), Deadline::after(milliseconds{1000}));
  if (!sent) return log::warn("precompiled headers: " + sent.error().message);
  making_.emplace(Making{std::move(*worker), std::move(name), std::move(*folder),
                         Deadline::after(making_timeout)});
}

void PrecompiledHeaders::poll() {
  if (!making_) return;
  if (making_->worker.process->finished(milliseconds{0})) return finish();
  if (making_->by.passed()) end_making();
}

/// A file that cannot be made (a header is missing) is not tried again: its count is beyond two.
void PrecompiledHeaders::finish() {
  const auto exit = making_->worker.process->wait(Deadline::after(seconds{1}));
  if (exit && exit->exit_code == 0 && has_compiled(making_->worker.socket)) {
    std::error_code error;
    fs::rename(making_->folder.path() / making_->name, kept(making_->name), error);
    if (!error) requests_.erase(making_->name);
    shrink();
  } else {
    log::info("headers that NVRTC cannot precompile are compiled each time; it ended with " +
              (exit ? fmt::format("code {}, signal {}", exit->exit_code, exit->signal)
                    : exit.error().message));
  }
  end_making();
}

void PrecompiledHeaders::end_making() {
  (void)making_->worker.process->kill();
  making_.reset();
}

/// Keeps the files that were used last.
void PrecompiledHeaders::shrink() const {
  std::vector<fs::directory_entry> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_, error)) {
    std::error_code gone;
    if (entry.is_regular_file(gone)) files.push_back(entry);
  }
  const auto used = [](const fs::directory_entry& entry) {
    std::error_code gone;
    return entry.last_write_time(gone);
  };
  std::ranges::sort(files, std::ranges::greater{}, used);
  uint64_t bytes = 0;
  for (const fs::directory_entry& file : files) {
    std::error_code gone;
    bytes += file.file_size(gone);
    if (bytes > max_bytes_) fs::remove(file.path(), gone);
  }
}

}  // namespace warpsmith::sandbox
