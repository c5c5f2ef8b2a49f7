// SPDX-License-Identifier: Apache-2.0
// tokenizer.json of the `tokenizers` library, for byte-level BPE.
#pragma once

#include <filesystem>
#include <string_view>

#include "policy/text/tokenizer.hpp"
#include "runtime/result.hpp"

namespace warpsmith::policy {

/// `parse_failed` names what is missing or has the wrong type; `unsupported` names a model,
/// normaliser, pre-tokenizer or decoder that byte-level BPE does not use.
Result<TokenizerSpec> parse_tokenizer_json(std::string_view text);

/// Reads the tokenizer of a model folder.
Result<Tokenizer> read_tokenizer(const std::filesystem::path& folder);

}  // namespace warpsmith::policy
