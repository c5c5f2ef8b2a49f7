// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/node_config.hpp"

#include <charconv>

namespace warpsmith {
namespace {

bool is_address(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return false;
  int port = 0;
  const auto parsed = std::from_chars(text.data() + colon + 1, text.data() + text.size(), port);
  return parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size() && port >= 0 &&
         port <= 65'535;
}

}  // namespace

void describe(Fields& fields, NodeConfig& c) {
  fields.text("listen", c.listen);
  fields.path("certificate", c.certificate);
  fields.path("key", c.key);
  fields.path("authority", c.authority);
  fields.bytes("chunk", c.chunk_bytes, {.low = 4 << 10, .high = 8 << 20});
  fields.duration("peer_timeout", c.peer_timeout, {.low = std::chrono::milliseconds{100}});
}

void validate(const NodeConfig& c, Complaints& complaints) {
  complaints.require(c.listen.empty() || is_address(c.listen), "node.listen",
                     "expected HOST:PORT, got \"" + c.listen + "\"");
  const int set = static_cast<int>(!c.certificate.empty()) + static_cast<int>(!c.key.empty()) +
                  static_cast<int>(!c.authority.empty());
  complaints.require(set == 0 || set == 3, "node.certificate",
                     "expected node.certificate, node.key and node.authority together, or none");
}

}  // namespace warpsmith
