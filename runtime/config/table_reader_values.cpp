// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "runtime/config/table_reader.hpp"
#include "runtime/config/units.hpp"

namespace warpsmith {
namespace {

std::filesystem::path resolve(const TomlLayer& layer, const std::string& written) {
  return written.empty() ? std::filesystem::path{} : (layer.folder / written).lexically_normal();
}

}  // namespace

std::optional<std::vector<std::string>> TableReader::strings_of(const Found& found,
                                                                std::string_view key) {
  std::vector<std::string> values;
  const auto* array = found.node->as_array();
  if (array != nullptr) {
    for (const toml::node& element : *array) {
      if (const auto* text = element.as_string()) values.push_back(text->get());
    }
  }
  if (array != nullptr && values.size() == array->size()) return values;
  expected(found, key, "a list of strings");
  return std::nullopt;
}

void TableReader::quantity(std::string_view key, int64_t& value, IntegerRange range,
                           const Unit& unit) {
  const Found found = find(key);
  if (!found) return;
  const auto read = number_with_unit(found, unit);
  if (!read) return complain(found, key, read.error().message);
  if (*read >= range.low && *read <= range.high) {
    value = *read;
    return;
  }
  expected(found, key, unit.what + show_range(range.low, range.high, unit.format));
}

Result<int64_t> TableReader::number_with_unit(const Found& found, const Unit& unit) {
  if (const auto* number = found.node->as_integer()) return number->get();
  if (const auto* text = found.node->as_string()) return unit.parse(text->get());
  return fail(ErrorCode::parse_failed,
              "expected " + std::string{unit.what} + ", got " + show(*found.node));
}

void TableReader::texts(std::string_view key, std::vector<std::string>& value,
                        std::span<const std::string_view> allowed) {
  const Found found = find(key);
  if (!found) return;
  auto read = strings_of(found, key);
  if (!read) return;
  for (const std::string& element : *read) {
    if (!allowed.empty() && std::find(allowed.begin(), allowed.end(), element) == allowed.end()) {
      complain(found, key, "expected any of " + in_quotes(allowed) + ", got \"" + element + "\"");
      return;
    }
  }
  value = std::move(*read);
}

void TableReader::path(std::string_view key, std::filesystem::path& value) {
  std::string read;
  const Found found = find(key);
  if (!found) return;
  text(key, read);
  if (found.node->is_string()) value = resolve(*found.layer, read);
}

void TableReader::paths(std::string_view key, std::vector<std::filesystem::path>& value) {
  const Found found = find(key);
  if (!found) return;
  const auto read = strings_of(found, key);
  if (!read) return;
  value.clear();
  for (const std::string& element : *read) value.push_back(resolve(*found.layer, element));
}

void TableReader::duration(std::string_view key, std::chrono::milliseconds& value,
                           DurationRange range) {
  int64_t ms = value.count();
  quantity(key, ms, {range.low.count(), range.high.count()},
           {.what = "a duration",
            .parse = [](std::string_view text) -> Result<int64_t> {
              const auto span = parse_duration(text);
              if (!span) return tl::unexpected(span.error());
              return span->count();
            },
            .format = [](int64_t x) { return format_duration(std::chrono::milliseconds{x}); }});
  value = std::chrono::milliseconds{ms};
}

void TableReader::bytes(std::string_view key, int64_t& value, IntegerRange range) {
  quantity(key, value, range, {.what = "a size", .parse = parse_bytes, .format = format_bytes});
}

}  // namespace warpsmith
