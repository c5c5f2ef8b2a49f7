// SPDX-License-Identifier: Apache-2.0
#include "policy/text/tool_arguments.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "policy/text/tool_call_grammar.hpp"
#include "runtime/received_json.hpp"

namespace warpsmith::policy {
namespace {

using Json = nlohmann::ordered_json;

constexpr int most_schema_steps = 256;  // a schema may refer to itself

Json parsed(const std::string& text) {
  return received_json<Json>(text, max_json_depth);
}

bool is_blank(const std::string& text) {
  return text.find_first_not_of(" \t\r\n") == std::string::npos;
}

/// The types and values that a parameter's schema allows.
class AllowedValues {
 public:
  AllowedValues(const Json& schema, const Json& root) : root_(root) { add(schema); }

  bool names_a_type() const { return !types_.empty() || !values_.empty(); }
  bool has_value(const Json& value) const {
    return std::ranges::find(values_, value) != values_.end();
  }
  bool has_type(const std::string& type) const { return types_.contains(type); }

 private:
  void add(const Json& schema) {
    if (!schema.is_object() || ++steps_ > most_schema_steps) return;
    add_reference(schema.value("$ref", Json()));
    for (const char* several : {"anyOf", "oneOf", "allOf"}) {
      for (const Json& one : list_of(schema, several)) add(one);
    }
    for (const Json& type : list_of(schema, "type")) {
      if (type.is_string()) types_.insert(type.get<std::string>());
    }
    for (const Json& value : list_of(schema, "enum")) values_.push_back(value);
    if (schema.contains("const")) values_.push_back(schema["const"]);
  }

  /// "#/$defs/Size": a place in the tool's schema.
  void add_reference(const Json& reference) {
    if (!reference.is_string() || !reference.get_ref<const std::string&>().starts_with('#')) return;
    try {
      const Json::json_pointer place(reference.get<std::string>().substr(1));
      if (root_.contains(place)) add(root_[place]);
    } catch (const Json::exception&) {
      return;  // the client's schema is wrong here: the parameter has no type
    }
  }

  static std::vector<Json> list_of(const Json& schema, const char* key) {
    const auto found = schema.find(key);
    if (found == schema.end()) return {};
    if (!found->is_array()) return {*found};
    return {found->begin(), found->end()};
  }

  const Json& root_;
  std::set<std::string> types_;
  std::vector<Json> values_;
  int steps_ = 0;
};

bool is_whole(const Json& value) {
  constexpr double exact = 9'007'199'254'740'992.0;  // 2^53
  if (!value.is_number_float()) return value.is_number();
  const auto number = value.get<double>();
  return std::abs(number) < exact && std::trunc(number) == number;
}

/// The value in a type that is allowed; discarded if there is none. Whole numbers have no fraction.
Json in_allowed_type(Json value, const AllowedValues& allowed) {
  if (value.is_number() && allowed.has_type("number")) return value;
  if (value.is_number() && allowed.has_type("integer") && is_whole(value)) {
    return value.is_number_float() ? Json(static_cast<int64_t>(value.get<double>())) : value;
  }
  const bool fits = !value.is_number() && !value.is_string() && allowed.has_type(value.type_name());
  return fits ? value : Json(Json::value_t::discarded);
}

Json typed_value(const std::string& text, const AllowedValues& allowed) {
  if (!allowed.names_a_type() || allowed.has_value(text)) return text;
  Json value = parsed(text);
  if (value.is_discarded() || allowed.has_value(value)) {
    return value.is_discarded() ? Json(text) : value;
  }
  value = in_allowed_type(std::move(value), allowed);
  return value.is_discarded() ? Json(text) : value;
}

const Json& property_of(const Json& parameters, const std::string& name) {
  static const Json none;
  if (!parameters.is_object()) return none;
  const auto properties = parameters.find("properties");
  if (properties == parameters.end() || !properties->is_object()) return none;
  const auto found = properties->find(name);
  return found == properties->end() ? none : *found;
}

}  // namespace

std::optional<Json> read_arguments(const Json& written) {
  if (written.is_null()) return Json::object();
  if (written.is_object()) return written;
  if (!written.is_string()) return std::nullopt;
  const auto& text = written.get_ref<const std::string&>();
  if (is_blank(text)) return Json::object();
  Json inner = parsed(text);
  if (inner.is_null()) return Json::object();
  return inner.is_object() ? std::optional{std::move(inner)} : std::nullopt;
}

Json typed_arguments(const ParsedCall& call, const std::string& written, const Json& parameters) {
  if (!written.empty()) {
    if (auto kept = read_arguments(written)) return std::move(*kept);
  }
  Json arguments = Json::object();
  for (const auto& [name, text] : call.arguments) {
    arguments[name] = typed_value(text, {property_of(parameters, name), parameters});
  }
  return arguments;
}

}  // namespace warpsmith::policy
