// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/trainer_json.hpp"

#include <charconv>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "policy/format/mapped_file.hpp"

namespace warpsmith::policy {
namespace {

using nlohmann::json;

/// Keys are decimal text, because many JSON readers round 64-bit integers.
uint64_t key_of(const std::string& text) {
  uint64_t key = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), key);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw std::runtime_error("prompt key \"" + text + "\" is not a number");
  }
  return key;
}

double finite(const json& value) {
  const double number = value.get<double>();
  if (!std::isfinite(number)) throw std::runtime_error("a number is not finite");
  return number;
}

TrainerNumbers numbers_from(const json& document) {
  TrainerNumbers n;
  n.step = document.at("step").get<uint32_t>();
  n.updates = document.at("updates").get<uint64_t>();
  n.mean_square = finite(document.at("mean_square"));
  for (const auto& [key, entry] : document.at("prompts").items()) {
    n.prompts[key_of(key)] = {finite(entry.at(0)), finite(entry.at(1))};
  }
  if (const auto found = document.find("restored"); found != document.end()) {
    n.restored = found->get<RestoredSteps>();
  }
  return n;
}

}  // namespace

Result<void> write_trainer_numbers(const std::filesystem::path& file,
                                   const TrainerNumbers& numbers) {
  json prompts = json::object();
  for (const auto& [key, entry] : numbers.prompts) {
    prompts[std::to_string(key)] = {entry.sum, entry.weight};
  }
  const json document{{"step", numbers.step},
                      {"updates", numbers.updates},
                      {"mean_square", numbers.mean_square},
                      {"prompts", std::move(prompts)},
                      {"restored", numbers.restored}};
  return write_text_file(file, document.dump(1) + '\n');
}

Result<TrainerNumbers> read_trainer_numbers(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) return fail(ErrorCode::not_found, file.string() + ": cannot be read");
  try {
    return numbers_from(json::parse(in));
  } catch (const std::exception& e) {
    return fail(ErrorCode::parse_failed, file.string() + ": " + e.what());
  }
}

}  // namespace warpsmith::policy
