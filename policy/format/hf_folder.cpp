// SPDX-License-Identifier: Apache-2.0
#include "policy/format/hf_folder.hpp"

#include <fcntl.h>

#include <nlohmann/json.hpp>
#include <set>

#include "policy/format/config_json.hpp"
#include "policy/format/safetensors.hpp"
#include "runtime/json_depth.hpp"
#include "runtime/run/durable_file.hpp"

namespace warpsmith::policy {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr size_t max_json_bytes = size_t{64} << 20U;

/// Reads and parses a file; empty if it does not exist.
Result<std::optional<json>> read_optional_json(const fs::path& path) {
  if (!fs::exists(path)) return std::nullopt;
  TRY(const auto text, read_text_file(path, max_json_bytes));
  JsonDepth depth;
  json parsed = json::parse(text, depth.watch(), /*allow_exceptions=*/false);
  if (depth.exceeded()) {
    return fail(ErrorCode::parse_failed, path.string() + ": JSON is nested too deeply");
  }
  if (parsed.is_object()) return parsed;
  return fail(ErrorCode::parse_failed, path.string() + ": expected a JSON object");
}

/// The file of each tensor, from an index.
Result<std::map<std::string, std::string>> read_index(const fs::path& path, const json& index) {
  const auto it = index.find("weight_map");
  if (it == index.end() || !it->is_object()) {
    return fail(ErrorCode::parse_failed, path.string() + ": missing object \"weight_map\"");
  }
  std::map<std::string, std::string> files;
  for (const auto& [tensor, file] : it->items()) {
    if (!file.is_string()) {
      return fail(ErrorCode::parse_failed, path.string() + ": \"" + tensor + "\" names no file");
    }
    files[tensor] = file.get<std::string>();
    if (fs::path(files[tensor]).filename() == files[tensor]) continue;
    return fail(ErrorCode::parse_failed,
                path.string() + ": shard \"" + files[tensor] + "\" is not a plain file name");
  }
  return files;
}

Result<WeightMap> read_shards(const fs::path& folder, const fs::path& index_path,
                              const json& index) {
  TRY(const auto files, read_index(index_path, index));
  std::map<std::string, WeightMap> shards;
  WeightMap tensors;
  for (const auto& [tensor, file] : files) {
    if (!shards.contains(file)) {
      auto shard = read_safetensors(folder / file);
      if (!shard) return fail("shard named by " + index_path.string(), shard.error());
      shards[file] = std::move(*shard);
    }
    const auto it = shards[file].find(tensor);
    if (it == shards[file].end()) {
      return fail(ErrorCode::parse_failed, (folder / file).string() + ": missing tensor \"" +
                                               tensor + "\" that the index places there");
    }
    tensors[tensor] = it->second;
  }
  return tensors;
}

/// Reports a folder that is not a model folder as such, instead of naming the first missing file.
Result<void> check_model_folder(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    return fail(ErrorCode::not_found, folder.string() + ": no such model folder");
  }
  if (fs::exists(folder / "config.json", error)) return {};
  return fail(ErrorCode::not_found,
              folder.string() +
                  ": not a model folder, config.json is missing; expected the files of "
                  "a Hugging Face model");
}

Result<void> apply_generation_config(const json& object, ModelConfig& config) {
  const auto it = object.find("eos_token_id");
  if (it == object.end() || it->is_null()) return {};
  const json list = it->is_array() ? *it : json::array({*it});
  config.eos_tokens.clear();
  for (const json& item : list) {
    if (!item.is_number_integer()) {
      return fail(ErrorCode::parse_failed,
                  "generation_config.json: \"eos_token_id\": expected token ids");
    }
    config.eos_tokens.push_back(item.get<int64_t>());
  }
  return {};
}

std::string generation_config_json(const ModelConfig& config) {
  json object = json::object();
  if (config.bos_token >= 0) object["bos_token_id"] = config.bos_token;
  if (!config.eos_tokens.empty()) object["eos_token_id"] = config.eos_tokens;
  return object.dump(2) + "\n";
}

/// Adds those of `from`'s generation settings that `to` does not have.
Result<void> merge_generation_config(const fs::path& from, const fs::path& to) {
  constexpr const char* name = "generation_config.json";
  TRY(const auto theirs, read_optional_json(from / name));
  TRY(const auto ours, read_optional_json(to / name));
  if (!theirs) return {};
  json merged = *theirs;
  if (ours) merged.update(*ours);
  return write_text_file(to / name, merged.dump(2) + "\n");
}

/// As in config.json.
std::string type_name(at::ScalarType type) {
  if (type == at::kHalf) return "float16";
  return type == at::kDouble ? "float64" : type == at::kBFloat16 ? "bfloat16" : "float32";
}

/// The type of the weights in a model folder: that of the embedding, which every family has.
Result<at::ScalarType> stored_type(const fs::path& folder) {
  if (!has_hf_weights(folder)) return at::kFloat;  // the model started with random weights
  TRY(const auto tensors, read_hf_weights(folder));
  const auto found = tensors.find("model.embed_tokens.weight");
  return found == tensors.end() ? at::kFloat : found->second.scalar_type();
}

}  // namespace

Result<void> write_text_file(const fs::path& path, std::string_view text) {
  TRY(const auto file, open_file(path, O_WRONLY | O_CREAT | O_TRUNC));
  return write_all(file, text, path);
}

Result<void> copy_other_files(const fs::path& from, const fs::path& to) {
  for (const char* name : {"tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
                           "chat_template.jinja"}) {
    if (!fs::exists(from / name)) continue;
    TRY(const auto text, read_text_file(from / name, max_json_bytes));
    TRY_VOID(write_text_file(to / name, text));
  }
  return merge_generation_config(from, to);
}

Result<ModelConfig> read_hf_config(const fs::path& folder) {
  TRY_VOID(check_model_folder(folder));
  TRY(const auto text, read_text_file(folder / "config.json", max_json_bytes));
  auto config = parse_config_json(text);
  if (!config) return fail(folder.string(), config.error());
  TRY(const auto generation, read_optional_json(folder / "generation_config.json"));
  if (generation) {
    auto ok = apply_generation_config(*generation, *config);
    if (!ok) return fail(folder.string(), ok.error());
  }
  return config;
}

bool has_hf_weights(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / "model.safetensors", ignored) ||
         fs::exists(folder / "model.safetensors.index.json", ignored);
}

Result<WeightMap> read_hf_weights(const fs::path& folder) {
  const fs::path whole = folder / "model.safetensors";
  std::error_code ignored;
  if (fs::exists(whole, ignored)) return read_safetensors(whole);
  const fs::path index_path = folder / "model.safetensors.index.json";
  TRY(const auto index, read_optional_json(index_path));
  if (index) return read_shards(folder, index_path, *index);
  return fail(ErrorCode::not_found,
              whole.string() +
                  ": no such file; give a folder with weights (model.folder), or train from random "
                  "ones (model.weights = \"random\")");
}

Result<Transformer> load_hf_model(const fs::path& folder, at::ScalarType dtype) {
  TRY(auto config, read_hf_config(folder));
  TRY(const auto tensors, read_hf_weights(folder));
  auto weights = weights_from_map(config, tensors, dtype);
  if (!weights) return fail(folder.string(), weights.error());
  return Transformer(std::move(config), std::move(*weights));
}

Result<Transformer> make_hf_model(const fs::path& folder, RandomStream& random) {
  TRY(auto config, read_hf_config(folder));
  ModelWeights weights = make_weights(config, random);
  return Transformer(std::move(config), std::move(weights));
}

Result<void> export_hf_model(const fs::path& folder, const Transformer& model,
                             const fs::path& from) {
  TRY(const auto type, stored_type(from));
  return save_hf_model(folder, {model.config(), model.weights().converted(type)}, from);
}

Result<void> save_hf_model(const fs::path& folder, const Transformer& model,
                           const fs::path& others_from) {
  const ModelConfig& config = model.config();
  const auto text = config_json(config, type_name(model.weights().embed.scalar_type()));
  TRY_VOID(write_text_file(folder / "config.json", text));
  auto ok = write_text_file(folder / "generation_config.json", generation_config_json(config));
  if (!ok) return ok;
  const WeightMap tensors = weights_to_map(config, model.weights());
  ok = write_safetensors(folder / "model.safetensors", tensors, {{"format", "pt"}});
  if (!ok || others_from.empty()) return ok;
  return copy_other_files(others_from, folder);
}

}  // namespace warpsmith::policy
