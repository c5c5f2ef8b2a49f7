// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/lora_folder.hpp"

#include <ATen/core/grad_mode.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "policy/format/mapped_file.hpp"
#include "policy/format/safetensors.hpp"
#include "runtime/checksum.hpp"

namespace warpsmith::policy {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* about_file = "adapter.json";
constexpr const char* tensors_file = "adapter.safetensors";

Result<LoraOrigin> read_origin(const fs::path& file) {
  std::ifstream in(file);
  if (!in) {
    return fail(ErrorCode::not_found, file.string() +
                                          " is missing: this checkpoint was made without "
                                          "[learner.lora]; resume it with learner.lora.rank = 0");
  }
  try {
    const json about = json::parse(in);
    return LoraOrigin{{about.at("rank").get<int64_t>(), about.at("alpha").get<double>(),
                       about.at("targets").get<std::vector<std::string>>()},
                      about.at("base").get<std::string>(),
                      about.at("base_sha256").get<std::string>()};
  } catch (const std::exception& e) {
    return fail(ErrorCode::parse_failed, file.string() + ": " + e.what());
  }
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string text_of(const LoraConfig& c) {
  return "rank " + std::to_string(c.rank) + ", alpha " + std::to_string(c.alpha) + ", targets " +
         joined(c.targets);
}

Result<void> check_origin(const fs::path& file, const LoraOrigin& got, const LoraOrigin& expected) {
  if (got.config != expected.config) {
    return fail(ErrorCode::invalid_config,
                file.string() + ": expected adapters of [learner.lora] (" +
                    text_of(expected.config) + "), got " + text_of(got.config) +
                    ": resume with the values of the checkpoint, or start a new run from it as "
                    "model.folder");
  }
  if (got.checksum == expected.checksum) return {};
  return fail(ErrorCode::corrupt, file.string() + ": its adapters belong to the weights of " +
                                      got.base + " as they were; those of " + expected.base +
                                      " differ: restore the folder that model.folder names");
}

}  // namespace

std::string checksum_of(const ModelWeights& weights) {
  std::string all;
  for (const auto& [name, tensor] : weights.parameters()) {
    const at::Tensor host = tensor.detach().cpu().contiguous();
    all += name + ' ' +
           sha256_hex({static_cast<const char*>(host.const_data_ptr()),
                       static_cast<size_t>(host.nbytes())}) +
           '\n';
  }
  return sha256_hex(all);
}

Result<void> save_lora(const fs::path& folder, const LoraOrigin& origin,
                       const WeightMap& adapters) {
  const json about{{"rank", origin.config.rank},
                   {"alpha", origin.config.alpha},
                   {"targets", origin.config.targets},
                   {"base", origin.base},
                   {"base_sha256", origin.checksum}};
  if (auto ok = write_text_file(folder / about_file, about.dump(1) + '\n'); !ok) return ok;
  return write_safetensors(folder / tensors_file, adapters);
}

Result<void> restore_lora(const fs::path& folder, const LoraOrigin& expected, Lora& lora) {
  const auto origin = read_origin(folder / about_file);
  if (!origin) return tl::unexpected(origin.error());
  if (auto same = check_origin(folder / about_file, *origin, expected); !same) return same;
  const fs::path file = folder / tensors_file;
  const auto map = read_safetensors(file);
  if (!map) return tl::unexpected(map.error());
  const at::NoGradGuard no_grad;
  for (auto& [name, tensor] : lora.parameters()) {
    const auto found = map->find(name);
    if (found == map->end() || found->second.sizes() != tensor.sizes()) {
      return fail(ErrorCode::parse_failed,
                  file.string() + ": \"" + name + "\" is missing or has another shape");
    }
    if (auto ok = check_finite(name, found->second); !ok) {
      return fail(file.string(), std::move(ok.error()));
    }
    at::Tensor(tensor).copy_(found->second);
  }
  return {};
}

Result<void> refuse_lora(const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(folder / about_file, error)) return {};
  const auto origin = read_origin(folder / about_file);
  if (!origin) return tl::unexpected(origin.error());
  return fail(ErrorCode::invalid_config,
              "learner.lora.rank: expected " + std::to_string(origin->config.rank) + ", as in " +
                  (folder / about_file).string() +
                  ", got 0: resume with the values of the checkpoint, or start a new run from it "
                  "as model.folder");
}

}  // namespace warpsmith::policy
