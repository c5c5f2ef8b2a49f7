// SPDX-License-Identifier: Apache-2.0
#include "commands/optimize/optimize_settings.hpp"

#include <nlohmann/json.hpp>

#include "runtime/json_text.hpp"
#include "runtime/run/durable_file.hpp"

namespace warpsmith::commands {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr size_t most_settings_bytes = 1U << 20U;

Result<void> make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error) return {};
  return fail(ErrorCode::io_failed, "cannot make " + folder.string() + ": " + error.message());
}

}  // namespace

std::string to_json(const OptimizeSettings& s) {
  return json_text(json{{"operator", s.operator_file},
                        {"operator_hash", s.operator_hash},
                        {"candidates", s.candidates},
                        {"baseline", s.baseline},
                        {"brain", s.brain},
                        {"contract", s.contract},
                        {"numerics", s.numerics},
                        {"baselines", s.baselines},
                        {"margin", s.margin},
                        {"slots", s.slots},
                        {"gpu", s.gpu},
                        {"timeout_s", s.timeout_s},
                        {"stack", s.stack}},
                   1) +
         '\n';
}

Result<OptimizeSettings> settings_of(const std::string& text) {
  try {
    const json from = json::parse(text);
    OptimizeSettings s;
    s.operator_file = from.at("operator");
    s.operator_hash = from.at("operator_hash");
    s.candidates = from.at("candidates");
    s.baseline = from.at("baseline");
    s.brain = from.at("brain");
    s.contract = from.at("contract");
    s.numerics = from.at("numerics");
    s.baselines = from.at("baselines").get<std::vector<std::string>>();
    s.margin = from.at("margin");
    s.slots = from.at("slots");
    s.gpu = from.at("gpu");
    s.timeout_s = from.at("timeout_s");
    s.stack = from.at("stack");
    return s;
  } catch (const json::exception& error) {
    return fail(ErrorCode::parse_failed, error.what());
  }
}

Result<void> make_result_folder(const ResultFolder& result, const OptimizeSettings& settings) {
  const fs::path& folder = result.folder;
  std::error_code error;
  if (fs::exists(folder, error) &&
      !(fs::is_directory(folder, error) && fs::is_empty(folder, error))) {
    return fail(ErrorCode::already_exists,
                "--out " + folder.string() +
                    ": expected a new or empty folder; to go on with it, give --resume " +
                    folder.string());
  }
  if (auto made = make_folder(folder); !made) return made;
  return write_file_durably(result.settings(), to_json(settings));
}

Result<OptimizeSettings> read_settings(const ResultFolder& folder) {
  const auto text = read_text_file(folder.settings(), most_settings_bytes);
  if (!text) {
    return fail("--resume: expected the folder of an earlier `optimize`", text.error());
  }
  auto settings = settings_of(*text);
  if (!settings) return fail(folder.settings().string(), settings.error());
  return settings;
}

namespace {

Result<void> moved(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (!error || error == std::errc::no_such_file_or_directory) return {};
  return fail(ErrorCode::io_failed, from.string() + ": " + error.message());
}

Result<void> removed(const fs::path& folder) {
  std::error_code error;
  fs::remove_all(folder, error);
  if (!error) return {};
  return fail(ErrorCode::io_failed, folder.string() + ": " + error.message());
}

Result<void> write_files(const fs::path& folder, const std::map<std::string, std::string>& files) {
  for (const auto& [name, content] : files) {
    const fs::path file = folder / name;
    if (auto made = make_folder(file.parent_path()); !made) return made;
    if (auto written = write_file_durably(file, content); !written) return written;
  }
  return {};
}

}  // namespace

Result<void> replace_folder(const fs::path& folder,
                            const std::map<std::string, std::string>& files) {
  const std::string name = folder.filename();
  const fs::path fresh = folder.parent_path() / ('.' + name);
  const fs::path old = folder.parent_path() / ('.' + name + ".old");
  return removed(fresh)
      .and_then([&] { return removed(old); })
      .and_then([&] { return write_files(fresh, files); })
      .and_then([&] { return moved(folder, old); })
      .and_then([&] { return moved(fresh, folder); })
      .and_then([&] { return removed(old); });
}

}  // namespace warpsmith::commands
