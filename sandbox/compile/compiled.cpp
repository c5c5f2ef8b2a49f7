// SPDX-License-Identifier: Apache-2.0
#include "sandbox/compile/compiled.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <utility>
#include <vector>

#include "runtime/bytes.hpp"
#include "runtime/codec.hpp"
#include "runtime/describe.hpp"
#include "runtime/run/durable_file.hpp"
#include "runtime/run/owned_folder.hpp"
#include "runtime/text.hpp"
#include "sandbox/failure/time_limits.hpp"
#include "sandbox/jail/bubblewrap.hpp"

namespace warpsmith::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr size_t digest_digits = 64;

struct Entry {
  fs::path path;
  uint64_t bytes = 0;
  fs::file_time_type used;
};

std::vector<Entry> entries_of(const std::string& folder) {
  std::vector<Entry> entries;
  std::error_code error;
  for (const auto& file : fs::directory_iterator(folder, error)) {
    Entry entry{file.path(), file.file_size(error), {}};
    if (!error) entry.used = file.last_write_time(error);
    if (!error) entries.push_back(std::move(entry));  // else a folder, or removed meanwhile
    error.clear();
  }
  return entries;
}

/// The content of a cache entry.
struct KeptResult {
  std::optional<VerdictClass> failure;
  std::string text, artefact;

  WARPSMITH_RECORD(failure, text, artefact)
};

std::optional<Compiled> known(CompileCache& cache, const std::string& key) {
  const auto stored = cache.find(key);
  if (!stored) return std::nullopt;
  auto entry = codec::unpack<KeptResult>(stored->data(), stored->size());
  if (!entry) return std::nullopt;
  Compiled result;
  result.failure = entry->failure;
  result.text = std::move(entry->text);
  result.artefact = std::move(entry->artefact);
  result.cached = true;
  return result;
}

void keep(CompileCache& cache, const std::string& key, const Compiled& result) {
  const ByteBuffer bytes = codec::pack(KeptResult{result.failure, result.text, result.artefact});
  cache.insert(key, {bytes.data(), bytes.size()});
}

/// Why a file cannot be compiled as it is; empty if it can. Compilers read a text up to its first
/// zero byte, or say something about the second.
std::string no_source(std::string_view content) {
  if (content.starts_with("\xFF\xFE") || content.starts_with("\xFE\xFF")) {
    return "is UTF-16: save it as UTF-8";
  }
  if (content.starts_with("\xEF\xBB\xBF")) {
    return "begins with a byte-order mark: save it as UTF-8 without one";
  }
  const size_t zero = content.find('\0');
  return zero == content.npos ? "" : fmt::format("is no text: byte {} is zero", zero);
}

/// Whether a limit or a signal ended the compiler: a busy machine may be the cause, not the source.
bool was_stopped(const JailExit& exit) {
  return exit.timed_out || exit.out_of_memory || exit.signal != 0 ||
         exit.err.find("terminated program") != std::string::npos;
}

}  // namespace

CompileCache::CompileCache(std::string folder, uint64_t max_bytes)
    : folder_(std::move(folder)), max_bytes_(max_bytes) {}

Result<CompileCache> CompileCache::open(const std::string& folder, int64_t max_bytes) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    return fail(ErrorCode::io_failed, "compile cache " + folder + ": " + error.message());
  }
  OwnedFolder::sweep(folder);
  CompileCache cache{folder, static_cast<uint64_t>(max_bytes)};
  cache.shrink();
  return cache;
}

std::optional<std::string> CompileCache::find(const std::string& key) {
  const fs::path path = fs::path(folder_) / key;
  const auto content = read_text_file(path, max_bytes_);
  if (!content) return std::nullopt;
  std::error_code error;
  if (content->size() < digest_digits ||
      sha256_hex(std::string_view(*content).substr(digest_digits)) !=
          std::string_view(*content).substr(0, digest_digits)) {
    fs::remove(path, error);
    return std::nullopt;
  }
  fs::last_write_time(path, fs::file_time_type::clock::now(), error);
  return content->substr(digest_digits);
}

void CompileCache::insert(const std::string& key, const std::string& value) {
  if (value.size() + digest_digits > max_bytes_) return;
  if (!write_file_whole(fs::path(folder_) / key, sha256_hex(value) + value)) return;
  const uint64_t added = value.size() + digest_digits;
  bytes_ += added;
  unlisted_ += added;
  if (bytes_ > max_bytes_ || unlisted_ > max_bytes_ / 16) shrink();
}

void CompileCache::shrink() {
  std::vector<Entry> entries = entries_of(folder_);
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.used < b.used; });
  bytes_ = unlisted_ = 0;
  for (const Entry& entry : entries) bytes_ += entry.bytes;
  // Down to seven eighths, so that a full cache is not listed at every insertion.
  const uint64_t target = bytes_ > max_bytes_ ? max_bytes_ - max_bytes_ / 8 : max_bytes_;
  for (const Entry& entry : entries) {
    if (bytes_ <= target) return;
    std::error_code error;
    if (fs::remove(entry.path, error)) bytes_ -= entry.bytes;
  }
}

Compiled failed_compiling(VerdictClass outcome, std::string text) {
  Compiled result;
  result.failure = outcome;
  result.text = std::move(text);
  return result;
}

Result<void> check_not_killed(const JailExit& exit) {
  if (!exit.killed_from_outside) return {};
  return fail(ErrorCode::process_failed, "compile: something outside killed the compiler");
}

std::optional<Compiled> stopped_by_limit(const JailExit& exit, std::chrono::milliseconds patience) {
  const std::string slow = "compiling took too long: ";
  if (exit.timed_out) {
    return failed_compiling(VerdictClass::timeout,
                            slow + "it did not end within " + duration_text(patience));
  }
  if (exit.signal == SIGXCPU) {
    return failed_compiling(VerdictClass::timeout, slow + "it used up its CPU time");
  }
  if (exit.out_of_memory) {
    return failed_compiling(VerdictClass::out_of_memory, "compiling exceeded its memory limit");
  }
  return std::nullopt;
}

std::optional<Compiled> too_large_a_file(const JailExit& exit, uint64_t most_bytes) {
  if (exit.err.find("File size limit exceeded") == std::string::npos) return std::nullopt;
  return failed_compiling(VerdictClass::compile_error,
                          fmt::format("the object is larger than {} MB", most_bytes >> 20U));
}

Result<Compiled> run_compiler(const JailSpec& spec, std::chrono::milliseconds patience,
                              Deadline deadline,
                              const std::function<Compiled(JailExit)>& result_of) {
  const Patience limit{Blame::candidate, patience, deadline};
  TRY(auto jail, JailedProcess::start(spec));
  TRY(auto exit, jail->wait(limit.by));
  if (exit.never_began) return fail("compile", jail_not_made(exit.err));
  TRY_VOID(check_not_killed(exit));
  if (exit.timed_out && limit.blame == Blame::deadline) {
    return fail(ErrorCode::timeout, "compile: the caller's deadline passed");
  }
  const bool lasting = !was_stopped(exit);
  auto stopped = stopped_by_limit(exit, patience);
  Compiled result = stopped ? std::move(*stopped) : result_of(std::move(exit));
  result.lasting = lasting;
  result.jail = jail->report();
  return result;
}

std::string content_of(const FileSet& files) {
  std::string all;
  for (const auto& [name, content] : files) {
    all.append(name).append(1, '\0').append(std::to_string(content.size()));
    all.append(1, '\0').append(content);
  }
  return all;
}

std::optional<Compiled> unfit_sources(const FileSet& files, const std::string& main,
                                      int64_t most_bytes) {
  if (!files.contains(main)) {
    return failed_compiling(VerdictClass::compile_error, "solution/" + main + " is missing");
  }
  size_t bytes = 0;  // counted as in sandbox/workspace
  for (const auto& [name, content] : files) bytes += content.size();
  std::string why;
  if (std::cmp_greater(bytes, most_bytes)) {
    why = fmt::format("the source has {} bytes, more than {}", bytes, most_bytes);
  } else if (files.at(main).find_first_not_of(" \t\r\n") == std::string::npos) {
    why = main + " is empty";
  }
  for (const auto& [name, content] : files) {
    if (const std::string odd = no_source(content); why.empty() && !odd.empty()) {
      why.append(name).append(" ").append(odd);
    }
  }
  if (why.empty()) return std::nullopt;
  return failed_compiling(VerdictClass::compile_error, std::move(why));
}

Result<Compiled> compile_once(CompileCache& cache, const std::string& key,
                              const std::function<Result<Compiled>()>& fresh) {
  const auto begin = SteadyClock::now();
  auto result = known(cache, key);
  if (!result) {
    auto made = fresh();
    if (!made && made.error().code == ErrorCode::process_failed) made = fresh();
    if (!made) return made;
    if (made->lasting) keep(cache, key, *made);
    result = std::move(*made);
  }
  const std::chrono::duration<double, std::milli> took = SteadyClock::now() - begin;
  result->milliseconds = took.count();
  return std::move(*result);
}

}  // namespace warpsmith::sandbox
