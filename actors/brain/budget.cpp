// SPDX-License-Identifier: Apache-2.0
#include "actors/brain/budget.hpp"

#include <nlohmann/json.hpp>
#include <sstream>

namespace warpsmith::actors {
namespace {

constexpr double million = 1e6;

std::string reached(const std::string& key, const std::string& limit, const std::string& used) {
  return key + " (" + limit + ") is reached: " + used + " used";
}

}  // namespace

void charge(BrainUsage& usage, const BrainConfig& prices, int64_t tokens_in, int64_t tokens_out) {
  ++usage.answers;
  usage.tokens_in += tokens_in;
  usage.tokens_out += tokens_out;
  usage.cost += (static_cast<double>(tokens_in) * prices.price_in +
                 static_cast<double>(tokens_out) * prices.price_out) /
                million;
}

std::string spent(const BrainConfig& limits, const BrainUsage& usage) {
  const int64_t tokens = usage.tokens_in + usage.tokens_out;
  if (limits.max_requests >= 0 && usage.requests >= limits.max_requests) {
    return reached("brain.max_requests", std::to_string(limits.max_requests),
                   std::to_string(usage.requests));
  }
  if (limits.max_tokens >= 0 && tokens >= limits.max_tokens) {
    return reached("brain.max_tokens", std::to_string(limits.max_tokens), std::to_string(tokens));
  }
  if (limits.max_cost >= 0 && usage.cost >= limits.max_cost) {
    return reached("brain.max_cost", std::to_string(limits.max_cost), std::to_string(usage.cost));
  }
  return "";
}

std::string usage_text(const BrainUsage& usage) {
  std::ostringstream text;
  text << usage.requests << " requests, " << usage.answers << " answers, " << usage.tokens_in
       << " tokens in, " << usage.tokens_out << " out, cost " << usage.cost;
  return text.str();
}

std::string to_json(const BrainUsage& usage) {
  return nlohmann::json{{"requests", usage.requests},
                        {"answers", usage.answers},
                        {"tokens_in", usage.tokens_in},
                        {"tokens_out", usage.tokens_out},
                        {"cost", usage.cost}}
             .dump() +
         "\n";
}

Result<BrainUsage> usage_from_json(std::string_view text) {
  try {
    const auto json = nlohmann::json::parse(text);
    return BrainUsage{json.at("requests").get<int64_t>(), json.at("answers").get<int64_t>(),
                      json.at("tokens_in").get<int64_t>(), json.at("tokens_out").get<int64_t>(),
                      json.at("cost").get<double>()};
  } catch (const nlohmann::json::exception& error) {
    return fail(ErrorCode::parse_failed, error.what());
  }
}

}  // namespace warpsmith::actors
