// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/run/checkpoint.hpp"

namespace warpsmith {

using nlohmann::json;

namespace {

constexpr int manifest_format = 2;

void check_keys(const json& object, const std::set<std::string>& known) {
  for (const auto& [key, value] : object.items()) {
    if (!known.contains(key)) throw std::runtime_error("unknown key '" + key + "'");
  }
}

/// True for a relative name without empty, "." and ".." parts.
bool stays_inside(const std::string& name) {
  size_t first = 0;
  while (first <= name.size()) {
    const size_t last = std::min(name.find('/', first), name.size());
    const std::string part = name.substr(first, last - first);
    if (part.empty() || part == "." || part == "..") return false;
    first = last + 1;
  }
  return name.find('\0') == std::string::npos;
}

bool is_xxh3(const std::string& text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// Reads a whole number in range; nlohmann converts other values silently.
uint64_t natural(const json& object, const char* key, uint64_t largest) {
  const json& value = object.at(key);
  if (!value.is_number_unsigned() || value.get<uint64_t>() > largest) {
    throw std::runtime_error(std::string("'") + key + "' is not a natural number in range");
  }
  return value.get<uint64_t>();
}

ManifestFile file_of(const json& object) {
  check_keys(object, {"name", "bytes", "xxh3"});
  ManifestFile file{object.at("name"), natural(object, "bytes", UINT64_MAX), object.at("xxh3")};
  if (!stays_inside(file.name))
    throw std::runtime_error("file name '" + file.name + "' leaves the folder");
  if (!is_xxh3(file.xxh3)) throw std::runtime_error("file '" + file.name + "' has no XXH3");
  return file;
}

CheckpointManifest manifest_of(const json& object) {
  check_keys(object, {"format", "incarnation", "step", "created_at", "files"});
  if (natural(object, "format", UINT32_MAX) != manifest_format) {
    throw std::runtime_error("format is not " + std::to_string(manifest_format));
  }
  CheckpointManifest manifest;
  manifest.version = {static_cast<uint32_t>(natural(object, "incarnation", UINT32_MAX)),
                      static_cast<uint32_t>(natural(object, "step", UINT32_MAX))};
  manifest.created_at = object.at("created_at");
  if (!object.at("files").is_array()) throw std::runtime_error("'files' is not a list");
  for (const json& file : object.at("files")) manifest.files.push_back(file_of(file));
  if (manifest.files.empty()) throw std::runtime_error("'files' is empty");
  return manifest;
}

}  // namespace

std::string to_json(const CheckpointManifest& manifest) {
  json files = json::array();
  for (const ManifestFile& file : manifest.files) {
    files.push_back({{"name", file.name}, {"bytes", file.bytes}, {"xxh3", file.xxh3}});
  }
  const json object{{"format", manifest_format},
                    {"incarnation", manifest.version.incarnation},
                    {"step", manifest.version.step},
                    {"created_at", manifest.created_at},
                    {"files", std::move(files)}};
  return object.dump(2, ' ', false, json::error_handler_t::replace) + '\n';
}

Result<CheckpointManifest> manifest_from_json(std::string_view text) {
  try {
    return manifest_of(json::parse(text));
  } catch (const std::exception& e) {
    return fail(ErrorCode::parse_failed, std::string("manifest.json: ") + e.what());
  }
}

}  // namespace warpsmith
