// SPDX-License-Identifier: Apache-2.0
#include "policy/format/tokenizer_json.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "runtime/json_depth.hpp"
#include "runtime/run/durable_file.hpp"

namespace warpsmith::policy {
namespace {

using nlohmann::json;

constexpr size_t max_file_bytes = size_t{256} << 20U;
const json null_json;

tl::unexpected<Error> wrong(const std::string& what) {
  return fail(ErrorCode::parse_failed, "tokenizer.json: " + what);
}

tl::unexpected<Error> unsupported(const std::string& part, const std::string& got) {
  return fail(ErrorCode::unsupported,
              "tokenizer.json: " + part + " \"" + got + "\" is not supported");
}

/// A member; null if it is absent or `object` is not an object.
const json& member(const json& object, const char* key) {
  if (!object.is_object()) return null_json;
  const auto it = object.find(key);
  return it == object.end() ? null_json : *it;
}

std::string text_of(const json& object, const char* key) {
  const json& value = member(object, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

bool flag_of(const json& object, const char* key, bool otherwise) {
  const json& value = member(object, key);
  return value.is_boolean() ? value.get<bool>() : otherwise;
}

/// Reads a non-negative 32-bit integer; false for anything else.
bool read_id(const json& value, int32_t& id) {
  if (!value.is_number_integer()) return false;
  const auto wide = value.get<int64_t>();
  id = static_cast<int32_t>(wide);
  return wide >= 0 && wide <= INT32_MAX;
}

Result<void> read_vocabulary(const json& model, BpeSpec& bpe) {
  const json& vocab = member(model, "vocab");
  if (!vocab.is_object()) return wrong("model.vocab: expected an object of ids");
  bpe.vocabulary.reserve(vocab.size());
  for (const auto& [entry, value] : vocab.items()) {
    int32_t id = 0;
    if (!read_id(value, id)) return wrong("model.vocab \"" + entry + "\": expected an id");
    bpe.vocabulary.emplace_back(entry, id);
  }
  return {};
}

/// Either "left right", or ["left", "right"] (if an entry contains a space).
bool read_merge(const json& item, std::pair<std::string, std::string>& merge) {
  if (item.is_array()) {
    if (item.size() != 2 || !item[0].is_string() || !item[1].is_string()) return false;
    merge = {item[0].get<std::string>(), item[1].get<std::string>()};
    return true;
  }
  if (!item.is_string()) return false;
  const auto line = item.get<std::string>();
  const size_t space = line.find(' ');
  if (space == std::string::npos || line.find(' ', space + 1) != std::string::npos) return false;
  merge = {line.substr(0, space), line.substr(space + 1)};
  return true;
}

Result<void> read_merges(const json& model, BpeSpec& bpe) {
  const json& merges = member(model, "merges");
  if (!merges.is_array()) return wrong("model.merges: expected an array");
  bpe.merges.resize(merges.size());
  for (size_t i = 0; i < merges.size(); ++i) {
    if (!read_merge(merges[i], bpe.merges[i])) {
      return wrong(fmt::format("model.merges: item {} is not a pair", i));
    }
  }
  return {};
}

/// Old files do not name the type; only BPE has merges.
std::string model_type(const json& model) {
  const bool has_merges = member(model, "merges").is_array();
  return member(model, "type").is_null() && has_merges ? "BPE" : text_of(model, "type");
}

Result<void> read_model(const json& model, BpeSpec& bpe) {
  const std::string type = model_type(model);
  if (type != "BPE") return unsupported("model", type);
  for (const char* key : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"}) {
    const json& value = member(model, key);
    const bool unset = value.is_null() || (value.is_string() && value.get<std::string>().empty());
    if (!unset) return unsupported("model option", key);
  }
  // byte_fallback has no effect if the vocabulary lacks the entries for it.
  if (flag_of(model, "byte_fallback", false) && member(model, "vocab").contains("<0x00>")) {
    return unsupported("model option", "byte_fallback");
  }
  bpe.unknown = text_of(model, "unk_token");
  bpe.fuse_unknown = flag_of(model, "fuse_unk", false);
  bpe.ignore_merges = flag_of(model, "ignore_merges", false);
  TRY_VOID(read_vocabulary(model, bpe));
  return read_merges(model, bpe);
}

Result<void> read_added(const json& list, std::vector<AddedToken>& added) {
  if (list.is_null()) return {};
  if (!list.is_array()) return wrong("added_tokens: expected an array");
  for (const json& item : list) {
    AddedToken token;
    token.content = text_of(item, "content");
    if (token.content.empty() || !read_id(member(item, "id"), token.id)) {
      return wrong(
          fmt::format("added_tokens: item {}: expected \"content\" and \"id\"", added.size()));
    }
    token.special = flag_of(item, "special", false);
    token.single_word = flag_of(item, "single_word", false);
    token.lstrip = flag_of(item, "lstrip", false);
    token.rstrip = flag_of(item, "rstrip", false);
    token.normalized = flag_of(item, "normalized", !token.special);
    added.push_back(std::move(token));
  }
  return {};
}

Result<void> read_normalizer(const json& item, Normalizer& normalizer) {
  if (item.is_null()) return {};
  const std::string type = text_of(item, "type");
  if (type == "NFC") {
    normalizer = Normalizer::nfc;
    return {};
  }
  if (type != "Sequence") return unsupported("normalizer", type);
  for (const json& part : member(item, "normalizers")) {
    TRY_VOID(read_normalizer(part, normalizer));
  }
  return {};
}

/// A pattern that matches `text` literally.
std::string escape_pattern(const std::string& literal) {
  std::string pattern;
  for (const char c : literal) {
    if (std::string_view(R"(\.^$|?*+()[]{}/-#)").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

Result<SplitStep> read_split(const json& item) {
  const std::string behavior = text_of(item, "behavior");
  if (behavior != "Isolated") return unsupported("split behavior", behavior);
  const json& pattern = member(item, "pattern");
  const bool regex = member(pattern, "Regex").is_string();
  if (!regex && !member(pattern, "String").is_string()) {
    return wrong("pre_tokenizer Split: expected \"pattern\" with \"Regex\" or \"String\"");
  }
  auto compiled = Regex::compile(regex ? text_of(pattern, "Regex")
                                       : escape_pattern(text_of(pattern, "String")));
  if (!compiled) return fail("tokenizer.json", compiled.error());
  return SplitStep{std::move(*compiled)};
}

/// Ignores `invert`: it swaps matches and gaps, which does not change isolated pieces.
Result<void> read_step(const json& item, std::vector<PreTokenizerStep>& steps) {
  const std::string type = text_of(item, "type");
  if (!steps.empty() && std::holds_alternative<ByteLevelStep>(steps.back())) {
    return unsupported("pre_tokenizer after ByteLevel", type);
  }
  if (type == "Split") {
    TRY(auto split, read_split(item));
    steps.emplace_back(std::move(split));
  } else if (type == "Digits") {
    steps.emplace_back(DigitsStep{flag_of(item, "individual_digits", false)});
  } else if (type == "ByteLevel") {
    steps.emplace_back(
        ByteLevelStep{flag_of(item, "add_prefix_space", true), flag_of(item, "use_regex", true)});
  } else {
    return unsupported("pre_tokenizer", type);
  }
  return {};
}

Result<void> read_steps(const json& item, std::vector<PreTokenizerStep>& steps) {
  const bool sequence = text_of(item, "type") == "Sequence";
  const json& list = sequence ? member(item, "pretokenizers") : item;
  if (!sequence) {
    TRY_VOID(read_step(list, steps));
  } else {
    for (const json& part : list) {
      TRY_VOID(read_step(part, steps));
    }
  }
  if (!steps.empty() && std::holds_alternative<ByteLevelStep>(steps.back())) return {};
  return unsupported("pre_tokenizer without ByteLevel at its end", text_of(item, "type"));
}

/// The ids of one "SpecialToken" of a template.
Result<void> read_special(const json& post, const std::string& name, std::vector<int32_t>& into) {
  const json& ids = member(member(member(post, "special_tokens"), name.c_str()), "ids");
  if (!ids.is_array()) return wrong("post_processor: no ids of \"" + name + "\"");
  for (const json& item : ids) {
    int32_t id = 0;
    if (!read_id(item, id)) return wrong("post_processor: \"" + name + "\": expected ids");
    into.push_back(id);
  }
  return {};
}

Result<void> read_template(const json& post, TokenizerSpec& spec) {
  std::vector<int32_t>* into = &spec.prefix;
  for (const json& part : member(post, "single")) {
    if (!member(part, "Sequence").is_null()) {
      into = &spec.suffix;
      continue;
    }
    const std::string name = text_of(member(part, "SpecialToken"), "id");
    TRY_VOID(read_special(post, name, *into));
  }
  return {};
}

Result<void> read_post_processor(const json& item, TokenizerSpec& spec) {
  if (item.is_null()) return {};
  const std::string type = text_of(item, "type");
  if (type == "ByteLevel") return {};  // changes offsets only
  if (type == "TemplateProcessing") return read_template(item, spec);
  if (type != "Sequence") return unsupported("post_processor", type);
  for (const json& part : member(item, "processors")) {
    TRY_VOID(read_post_processor(part, spec));
  }
  return {};
}

/// Accepts ByteLevel, by itself or after steps without effect on byte-level entries, as in
/// converted GGUF files.
Result<void> check_decoder(const json& item) {
  const std::string type = text_of(item, "type");
  if (type == "ByteLevel") return {};
  const json& steps = member(item, "decoders");
  const bool ends_well = type == "Sequence" && steps.is_array() && !steps.empty() &&
                         text_of(steps.back(), "type") == "ByteLevel";
  if (!ends_well) return unsupported("decoder", type);
  for (const json& step : steps) {
    const std::string kind = text_of(step, "type");
    const bool harmless =
        kind == "ByteLevel" || kind == "ByteFallback" || kind == "Fuse" ||
        (kind == "Replace" && text_of(member(step, "pattern"), "String") == "\u2581");
    if (!harmless) return unsupported("decoder step", kind);
  }
  return {};
}

}  // namespace

Result<TokenizerSpec> parse_tokenizer_json(std::string_view text) {
  JsonDepth depth;
  const json object = json::parse(text.begin(), text.end(), depth.watch(), false);
  if (depth.exceeded()) return wrong("JSON is nested too deeply");
  if (!object.is_object()) return wrong("expected a JSON object");
  TokenizerSpec spec;
  auto ok = check_decoder(member(object, "decoder"));
  if (ok) ok = read_model(member(object, "model"), spec.bpe);
  if (ok) ok = read_added(member(object, "added_tokens"), spec.added);
  if (ok) ok = read_normalizer(member(object, "normalizer"), spec.normalizer);
  if (ok) ok = read_steps(member(object, "pre_tokenizer"), spec.steps);
  if (ok) ok = read_post_processor(member(object, "post_processor"), spec);
  if (!ok) return tl::unexpected(ok.error());
  return spec;
}

Result<Tokenizer> read_tokenizer(const std::filesystem::path& folder) {
  TRY(const auto text, read_text_file(folder / "tokenizer.json", max_file_bytes));
  auto spec = parse_tokenizer_json(text);
  if (!spec) return fail(folder.string(), spec.error());
  auto tokenizer = Tokenizer::make(std::move(*spec));
  if (!tokenizer) return fail(folder.string(), tokenizer.error());
  return tokenizer;
}

}  // namespace warpsmith::policy
