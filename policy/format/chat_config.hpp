// SPDX-License-Identifier: Apache-2.0
// The chat template of a model folder: chat_template.jinja, or tokenizer_config.json.
#pragma once

#include <filesystem>

#include "policy/text/chat_template.hpp"
#include "runtime/result.hpp"

namespace warpsmith::policy {

/// `not_found` if the folder has no template, `unsupported` if it is none that we know.
Result<ChatTemplate> read_chat_template(const std::filesystem::path& folder);

}  // namespace warpsmith::policy
