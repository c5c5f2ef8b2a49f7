// SPDX-License-Identifier: Apache-2.0
// Tokens of HTTP headers: names of headers, of codings, connection options, schemes and media types
// are equal whatever their case. Methods are not among them. Pure.
#pragma once

#include <string>
#include <string_view>

namespace warpsmith {

/// In small letters, as tokens are compared.
std::string http_token(std::string_view text);

/// The media type of a Content-Type without its parameters: "application/json".
std::string media_type(std::string_view content_type);

/// Whether a list such as "keep-alive, TE" holds `token`, which is in small letters.
bool has_http_token(std::string_view list, std::string_view token);

}  // namespace warpsmith
