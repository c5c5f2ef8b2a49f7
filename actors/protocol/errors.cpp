// SPDX-License-Identifier: Apache-2.0
#include "actors/protocol/errors.hpp"

#include <caf/atom.hpp>
#include <caf/deep_to_string.hpp>
#include <caf/exit_reason.hpp>
#include <caf/make_message.hpp>
#include <caf/sec.hpp>

namespace warpsmith::actors {
namespace {

constexpr caf::atom_value category = caf::atom("warpsmith");
constexpr caf::atom_value end_category = caf::atom("wsended");
constexpr caf::atom_value lost_category = caf::atom("wslost");

caf::error in_category(caf::atom_value which, const Error& error) {
  return {static_cast<uint8_t>(error.code), which, caf::make_message(error.message)};
}

bool is_end(const caf::error& error) {
  return error.category() == end_category || error.category() == lost_category;
}

bool is_ours(const caf::error& error) {
  return error.category() == category || is_end(error);
}

std::string text_of(const caf::message& context) {
  if (context.match_elements<std::string>()) return context.get_as<std::string>(0);
  return caf::deep_to_string(context);
}

ErrorCode code_of(caf::sec code) {
  switch (code) {
    case caf::sec::request_timeout:
      return ErrorCode::timeout;
    case caf::sec::request_receiver_down:
    case caf::sec::no_route_to_receiving_node:
      return ErrorCode::peer_lost;
    default:
      return ErrorCode::infrastructure;
  }
}

}  // namespace

caf::error to_caf(const Error& error) {
  return in_category(category, error);
}

caf::error to_caf_end(const Error& error) {
  return in_category(end_category, error);
}

caf::error to_caf_lost(const Error& error) {
  return in_category(lost_category, error);
}

bool device_is_lost(const caf::error& error) {
  return error.category() == lost_category;
}

Error from_caf(const caf::error& error) {
  const std::string text = text_of(error.context());
  if (is_ours(error)) return {static_cast<ErrorCode>(error.code()), text};
  if (error.category() == caf::atom("exit") &&
      error.code() == static_cast<uint8_t>(caf::exit_reason::remote_link_unreachable)) {
    return {ErrorCode::peer_lost, caf::to_string(error)};
  }
  if (error.category() != caf::atom("system")) {
    return {ErrorCode::infrastructure, caf::to_string(error)};
  }
  const auto code = static_cast<caf::sec>(error.code());
  return {code_of(code), caf::to_string(code) + text};
}

bool receiver_is_gone(const caf::error& error) {
  if (error.category() == caf::atom("exit") || is_end(error)) return true;
  return error == caf::sec::request_receiver_down || error == caf::sec::no_route_to_receiving_node;
}

void register_errors(caf::actor_system_config& config) {
  const auto render = [](uint8_t code, caf::atom_value, const caf::message& context) {
    std::string name{to_string(static_cast<ErrorCode>(code))};
    return name + ": " + text_of(context);
  };
  config.add_error_category(category, render);
  config.add_error_category(end_category, render);
  config.add_error_category(lost_category, render);
}

}  // namespace warpsmith::actors
