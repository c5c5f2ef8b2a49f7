// SPDX-License-Identifier: Apache-2.0
#include "commands/optimize/submissions.hpp"

#include <algorithm>

#include "commands/check_input.hpp"
#include "runtime/checksum.hpp"
#include "sandbox/contract/registry.hpp"

namespace warpsmith::commands {
namespace {

namespace fs = std::filesystem;

constexpr size_t most_submissions = 10'000;

bool is_source_file(const fs::path& file) {
  return std::ranges::any_of(sandbox::all_contracts(), [&](const auto* contract) {
    return std::ranges::find(contract->endings, file.extension().string()) !=
           contract->endings.end();
  });
}

/// Why an entry is no submission; empty if it may be one.
std::string unfit(const SubmissionFolder& from, const fs::directory_entry& entry) {
  std::error_code error;
  if (entry.path().filename().string().starts_with('.')) return "its name begins with a dot";
  if (!entry.is_directory(error)) {
    return is_source_file(entry.path()) ? "" : "no contract takes such a file";
  }
  if (holds_solution(entry.path(), from.contract)) return "";
  return "expected " + expected_files(from.contract) + " in it, found none";
}

/// The entries of the folder that may be submissions, sorted.
Result<std::vector<fs::path>> entries_of(const SubmissionFolder& from,
                                         std::vector<std::string>& skipped) {
  std::error_code error;
  if (!fs::is_directory(from.folder, error)) {
    return fail(ErrorCode::not_found, from.option + ' ' + from.folder + ": no such folder");
  }
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(from.folder, error)) {
    const std::string why = unfit(from, entry);
    const bool lacks_kernel = !why.empty() && entry.is_directory(error);
    if (from.whole && lacks_kernel && !entry.path().filename().string().starts_with('.')) {
      return fail(ErrorCode::invalid_argument,
                  from.option + ' ' + entry.path().string() + ": " + why);
    }
    if (why.empty()) found.push_back(entry.path());
    if (!why.empty()) skipped.push_back(entry.path().filename().string() + ": " + why);
  }
  std::ranges::sort(found);
  std::ranges::sort(skipped);
  if (found.empty() || found.size() > most_submissions) {
    const ErrorCode code = found.empty() ? ErrorCode::not_found : ErrorCode::invalid_argument;
    return fail(code, from.option + ' ' + from.folder + ": expected 1 to " +
                          std::to_string(most_submissions) +
                          " folders with a kernel or source files, got " +
                          std::to_string(found.size()));
  }
  return found;
}

std::string key_of(const Submission& submission) {
  std::string all = submission.contract;
  for (const auto& [name, content] : submission.files) {
    all += '\0' + name + '\0' + sha256_hex(content);
  }
  return sha256_hex(all);
}

Result<FoundSubmission> read_one(const SubmissionFolder& from, const fs::path& entry) {
  CheckArguments arguments;
  arguments.place = entry;
  arguments.task = from.operator_file;
  arguments.contract = from.contract;
  auto call = check_call(arguments);
  if (!call) return fail(from.option, call.error());
  FoundSubmission out{entry.filename(), entry, key_of(call->submission), {}, call->task.device};
  out.submission = std::move(call->submission);
  return out;
}

}  // namespace

Result<std::vector<FoundSubmission>> read_submissions(const SubmissionFolder& from,
                                                      std::vector<std::string>& skipped) {
  const auto entries = entries_of(from, skipped);
  if (!entries) return tl::unexpected(entries.error());
  std::vector<FoundSubmission> out;
  for (const fs::path& entry : *entries) {
    auto one = read_one(from, entry);
    if (!one && from.whole) return tl::unexpected(std::move(one.error()));
    if (one) {
      out.push_back(std::move(*one));
    } else {
      skipped.push_back(entry.filename().string() + ": " + one.error().message);
    }
  }
  if (out.empty())
    return fail(from.option, {ErrorCode::not_found, "none is usable: " + skipped.back()});
  return out;
}

}  // namespace warpsmith::commands
