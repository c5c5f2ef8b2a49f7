// SPDX-License-Identifier: Apache-2.0
// Databases with changed bytes: every query returns an answer or an error, and none crashes.
#include <gtest/gtest.h>

#include "runtime/random_stream.hpp"
#include "runtime/run/durable_file.hpp"
#include "runtime/run/run_queries.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith {
namespace {

using test_support::TemporaryFolder;

std::string valid_database(const std::filesystem::path& path) {
  {
    auto db = RunDatabase::open(path);
    const Task task{.id = "t", .code = "c", .content_hash = "h"};
    bool fine = db && db->begin_incarnation(0) && db->put_task(task);
    for (TrajectoryId id = 1; fine && id <= 20; ++id) {
      fine =
          db->put_admission(id, task, {1, 0}).has_value() &&
          db->put_segment({id, 0, {1, 8 + 100 * id, 84, id}, 9, 3}).has_value() &&
          db->put_outcome(id, Outcome{.reward = 1, .verdict = VerdictClass::passed}).has_value() &&
          db->put_verdict({id, 1, true, Verdict{}}).has_value();
    }
    fine = fine && db->put_step({{1, 1}, {1, 2, 3}, {{"loss", 0.5}}}).has_value();
    if (!fine) throw std::runtime_error("cannot make the database");
  }
  return read_text_file(path, 1U << 22U).value();
}

/// Returns true if everything could be read.
bool read_everything(const std::filesystem::path& path) {
  auto db = RunDatabase::open(path, SqlAccess::read_only);
  if (!db) return false;
  bool fine = db->check_integrity().has_value();
  fine &= summarize(*db).has_value();
  fine &= trajectory_rows(*db, 1, 100).has_value();
  fine &= indexed_end(*db).has_value();
  fine &= stored_task(*db, "t", "h").has_value();
  fine &= verdict_rows(*db, 3).has_value();
  return fine;
}

TEST(RunDatabaseFuzzTest, ChangedBytesYieldAnAnswerOrAnError) {
  const TemporaryFolder folder = TemporaryFolder::in_memory();
  const auto path = folder.path() / "run.db";
  const std::string whole = valid_database(path);
  ASSERT_TRUE(read_everything(path));
  RandomStream draw{19, "run_database_fuzz_test"};
  int refused = 0;
  for (int round = 0; round < 150; ++round) {
    std::string mutated = whole;
    for (uint64_t i = 1 + draw.below(30); i > 0; --i) {
      mutated[draw.below(mutated.size())] = static_cast<char>(draw.below(256));
    }
    if (draw.below(5) == 0) mutated.resize(draw.below(mutated.size()));
    const auto target = folder.path() / ("mutated-" + std::to_string(round) + ".db");
    ASSERT_TRUE(write_file_durably(target, mutated).has_value());
    refused += read_everything(target) ? 0 : 1;
  }
  EXPECT_GT(refused, 10);
}

}  // namespace
}  // namespace warpsmith
