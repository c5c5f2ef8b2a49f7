// SPDX-License-Identifier: Apache-2.0
#include "actors/commands/train/stage_place.hpp"

#include "runtime/run/durable_file.hpp"

namespace warpsmith::actors {
namespace {

namespace fs = std::filesystem;

constexpr size_t max_record_bytes = size_t{1} << 20U;

Result<void> check_present(const StageRecord& record) {
  std::error_code ignored;
  for (const std::string& made : {record.model, record.critic}) {
    if (!made.empty() && !fs::exists(made, ignored)) {
      return fail(ErrorCode::not_found, made + ", which the stage made, is missing");
    }
  }
  return {};
}

}  // namespace

StagePlace place_of(const fs::path& chain, size_t index, const std::string& name) {
  return {chain / "stages", std::to_string(index + 1) + '-' + name};
}

Result<std::optional<StageRecord>> stored_record(const StagePlace& place) {
  std::error_code ignored;
  if (!fs::exists(place.record(), ignored)) return std::nullopt;
  const auto text = read_text_file(place.record(), max_record_bytes);
  if (!text) return tl::unexpected(text.error());
  auto record = stage_record_from_json(*text);
  if (record) {
    if (auto there = check_present(*record); !there) record = tl::unexpected(there.error());
  }
  if (!record) {
    return fail(record.error().code, place.record().string() + ": " + record.error().message +
                                         "; remove this file to run the stage again");
  }
  return std::optional{std::move(*record)};
}

}  // namespace warpsmith::actors
