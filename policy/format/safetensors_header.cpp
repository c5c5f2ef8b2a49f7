// SPDX-License-Identifier: Apache-2.0
#include "policy/format/safetensors_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

namespace warpsmith::policy {
namespace {

using nlohmann::json;

struct TypeName {
  StoredType type;
  std::string_view name;
  int64_t bytes;
};

constexpr TypeName type_names[] = {
    {StoredType::f64, "F64", 8},       {StoredType::f32, "F32", 4},
    {StoredType::f16, "F16", 2},       {StoredType::bf16, "BF16", 2},
    {StoredType::other, "I64", 8},     {StoredType::other, "I32", 4},
    {StoredType::other, "I16", 2},     {StoredType::other, "I8", 1},
    {StoredType::other, "U64", 8},     {StoredType::other, "U32", 4},
    {StoredType::other, "U16", 2},     {StoredType::other, "U8", 1},
    {StoredType::other, "BOOL", 1},    {StoredType::other, "F8_E4M3", 1},
    {StoredType::other, "F8_E5M2", 1}, {StoredType::other, "F8_E8M0", 1},
    {StoredType::other, "C64", 8}};

tl::unexpected<Error> wrong(const std::string& name, const std::string& what) {
  return fail(ErrorCode::parse_failed, "safetensors: tensor \"" + name + "\": " + what);
}

/// Parses JSON and records a duplicate top-level name, of which the library silently keeps the
/// last.
json parse_unique(std::string_view text, std::string& duplicate) {
  std::set<std::string> names;
  const auto on_event = [&](int depth, json::parse_event_t event, json& parsed) {
    if (event != json::parse_event_t::key || depth != 1) return true;
    if (!names.insert(parsed.get<std::string>()).second) duplicate = parsed.get<std::string>();
    return true;
  };
  return json::parse(text.begin(), text.end(), on_event, /*allow_exceptions=*/false);
}

/// Reads an array of unsigned integers of at most 2^62; false for anything else.
bool read_sizes(const json& array, std::vector<uint64_t>& out) {
  constexpr uint64_t limit = uint64_t{1} << 62U;
  if (!array.is_array()) return false;
  for (const json& item : array) {
    if (!item.is_number_unsigned() || item.get<uint64_t>() > limit) return false;
    out.push_back(item.get<uint64_t>());
  }
  return true;
}

Result<TypeName> read_type(const std::string& name, const json& entry) {
  const auto it = entry.find("dtype");
  const std::string got = it != entry.end() && it->is_string() ? it->get<std::string>() : "";
  for (const TypeName& type : type_names) {
    if (got == type.name) return type;
  }
  return wrong(name, "unknown dtype \"" + got + "\"; weights are F64, F32, F16 or BF16");
}

/// Bytes of a shape; empty if the number overflows.
std::optional<uint64_t> bytes_of(const std::vector<uint64_t>& shape, const TypeName& type) {
  auto bytes = static_cast<uint64_t>(type.bytes);
  for (const uint64_t size : shape) {
    if (__builtin_mul_overflow(bytes, size, &bytes)) return std::nullopt;
  }
  return bytes;
}

Result<StoredTensor> read_entry(const std::string& name, const json& entry) {
  if (!entry.is_object()) return wrong(name, "expected an object");
  TRY(const auto type, read_type(name, entry));
  std::vector<uint64_t> shape;
  std::vector<uint64_t> offsets;
  if (!entry.contains("shape") || !read_sizes(entry["shape"], shape)) {
    return wrong(name, "expected \"shape\" as an array of sizes");
  }
  if (!entry.contains("data_offsets") || !read_sizes(entry["data_offsets"], offsets) ||
      offsets.size() != 2) {
    return wrong(name, "expected \"data_offsets\" as two offsets");
  }
  const auto bytes = bytes_of(shape, type);
  if (!bytes || offsets[1] < offsets[0] || offsets[1] - offsets[0] != *bytes) {
    return wrong(name, fmt::format("shape and data_offsets disagree: offsets {} to {}", offsets[0],
                                   offsets[1]));
  }
  return StoredTensor{type.type, {shape.begin(), shape.end()}, offsets[0], offsets[1]};
}

/// Checks that the tensors, by offset, fill the file without gap or overlap.
Result<void> check_layout(const StoredTensors& tensors, uint64_t data_bytes) {
  std::vector<std::pair<const std::string*, const StoredTensor*>> order;
  for (const auto& [name, tensor] : tensors) order.emplace_back(&name, &tensor);
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second->begin, a.second->end) < std::pair(b.second->begin, b.second->end);
  });
  uint64_t expected = 0;
  for (const auto& [name, tensor] : order) {
    if (tensor->begin != expected) {
      return wrong(*name, fmt::format("expected offset {}, got {}: a hole or an overlap", expected,
                                      tensor->begin));
    }
    expected = tensor->end;
    if (expected > data_bytes) {
      return wrong(*name, fmt::format("ends at byte {}, the file holds {}: truncated?", expected,
                                      data_bytes));
    }
  }
  if (expected == data_bytes) return {};
  return fail(ErrorCode::parse_failed,
              fmt::format("safetensors: header describes {} bytes of data, file has {}", expected,
                          data_bytes));
}

}  // namespace

int64_t byte_size(StoredType type) noexcept {
  for (const TypeName& known : type_names) {
    if (known.type == type && type != StoredType::other) return known.bytes;
  }
  return 0;
}

std::string_view to_string(StoredType type) noexcept {
  for (const TypeName& known : type_names) {
    if (known.type == type && type != StoredType::other) return known.name;
  }
  return "other";
}

Result<StoredTensors> parse_safetensors_header(std::string_view text, uint64_t data_bytes) {
  std::string duplicate;
  const json header = parse_unique(text, duplicate);
  if (!header.is_object()) {
    return fail(ErrorCode::parse_failed, "safetensors: header is not a JSON object");
  }
  if (!duplicate.empty()) return wrong(duplicate, "named twice");
  StoredTensors tensors;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    TRY(auto tensor, read_entry(name, entry));
    tensors[name] = std::move(tensor);
  }
  TRY_VOID(check_layout(tensors, data_bytes));
  return tensors;
}

std::string safetensors_header(const StoredTensors& tensors,
                               const std::map<std::string, std::string>& metadata) {
  json header = json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  for (const auto& [name, tensor] : tensors) {
    header[name] = {{"dtype", to_string(tensor.type)},
                    {"shape", tensor.shape},
                    {"data_offsets", {tensor.begin, tensor.end}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

}  // namespace warpsmith::policy
