// SPDX-License-Identifier: Apache-2.0
// The log of requests and answers: brain/ID.jsonl in the run folder, one file per trajectory, and
// brain/usage.json for the whole run. Appended lines survive kill -9.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "actors/brain/budget.hpp"
#include "actors/brain/chat_completion.hpp"
#include "runtime/run/durable_file.hpp"
#include "runtime/segment.hpp"

namespace warpsmith::actors {

/// The place of one attempt.
struct AttemptId {
  TrajectoryId trajectory = 0;
  uint32_t turn = 0;    // number of the rollout's request
  int64_t attempt = 1;  // of this request
};

/// A trajectory's file is bounded: after 64 MiB only the size of each further line is noted.
class ExchangeLog {
 public:
  /// Makes the folder. `secret`, if it is not empty, is never written to a file.
  static Result<ExchangeLog> open(const std::filesystem::path& run, std::string secret);

  /// Writes the messages that are not in an earlier line of this trajectory, and all other parts of
  /// the request.
  Result<void> asked(const AttemptId& id, const std::string& url, const ChatRequest& request);
  /// `answer`: a JSON object, see record_of.
  Result<void> answered(const AttemptId& id, const std::string& answer, double seconds);
  Result<void> failed(const AttemptId& id, int status, const std::string& why, double seconds);
  /// A session has ended; a later one of the same trajectory writes all its messages again.
  void close(TrajectoryId id) { files_.erase(id); }

  /// The usage of earlier incarnations; zeros if there is no file.
  Result<BrainUsage> usage() const { return usage_in(folder_); }
  Result<void> keep(const BrainUsage& usage) const;

 private:
  struct File {
    UniqueFd file;
    std::filesystem::path path;
    size_t bytes = 0;
    size_t messages = 0;  // written so far
  };

  explicit ExchangeLog(std::filesystem::path folder, std::string secret)
      : folder_(std::move(folder)), secret_(std::move(secret)) {}
  friend Result<BrainUsage> usage_of_run(const std::filesystem::path& run);
  static Result<BrainUsage> usage_in(const std::filesystem::path& folder);
  Result<File*> file_of(TrajectoryId id);
  Result<void> write(TrajectoryId id, const std::string& line);

  std::filesystem::path folder_;
  std::string secret_;
  std::map<TrajectoryId, File> files_;
};

/// The usage of a run's brain; zeros for a run without one.
Result<BrainUsage> usage_of_run(const std::filesystem::path& run);

}  // namespace warpsmith::actors
