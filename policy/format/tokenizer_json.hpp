// SPDX-License-Identifier: Apache-2.0
// tokenizer.json of the `tokenizers` library, as far as byte-level BPE families use it.
#pragma once

#include <filesystem>
#include <string_view>

#include "policy/text/tokenizer.hpp"
#include "runtime/result.hpp"

namespace warpsmith::policy {

/// `parse_failed` names what is missing or of the wrong kind; `unsupported` names a component that
/// byte-level BPE families do not use (another model, normaliser, pre-tokenizer or decoder).
Result<TokenizerSpec> parse_tokenizer_json(std::string_view text);

/// The tokenizer of a model folder.
Result<Tokenizer> read_tokenizer(const std::filesystem::path& folder);

}  // namespace warpsmith::policy
