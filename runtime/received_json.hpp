// SPDX-License-Identifier: Apache-2.0
// Rules for JSON that other programs send: lone surrogates are replaced, and a null counts as an
// absent member. Pure.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "runtime/json_depth.hpp"
#include "runtime/json_text.hpp"

namespace warpsmith {

/// The text with \ufffd in place of each escape of half a surrogate pair. Programs that cut text
/// between the halves write such escapes; JSON parsers refuse them. The length stays.
std::string without_lone_surrogates(std::string_view json);

/// The value of a text; discarded if the text is malformed or nested more than `most` levels deep.
template <class Json>
Json received_json(std::string_view text, int most = 64) {
  JsonDepth depth{most};
  Json value =
      Json::parse(without_lone_surrogates(text), depth.watch(), /*allow_exceptions=*/false);
  return depth.exceeded() ? Json(Json::value_t::discarded) : value;
}

/// Removes members that are null, at any depth, but nothing within members named in `kept`.
/// Elements of lists stay.
template <class Json>
void drop_nulls(Json& value, const std::set<std::string>& kept = {}) {
  if (value.is_array()) {
    for (auto& element : value) drop_nulls(element, kept);
  }
  if (!value.is_object()) return;
  for (auto member = value.begin(); member != value.end();) {
    if (member.value().is_null()) {
      member = value.erase(member);
      continue;
    }
    if (!kept.contains(member.key())) drop_nulls(member.value(), kept);
    ++member;
  }
}

}  // namespace warpsmith
