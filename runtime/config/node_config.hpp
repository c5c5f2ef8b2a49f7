// SPDX-License-Identifier: Apache-2.0
// [node]: how this process is reached by others, if at all.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

#include "runtime/config/complaints.hpp"
#include "runtime/config/fields.hpp"

namespace warpsmith {

struct NodeConfig {
  std::string listen;  // address other nodes join at, e.g. "0.0.0.0:9400"; empty: single process
  std::filesystem::path certificate;  // PEM; mutual TLS when the three are set
  std::filesystem::path key;
  std::filesystem::path authority;
  int64_t chunk_bytes = 8 << 20;  // of a bulk transfer, so that control messages never wait
  std::chrono::milliseconds peer_timeout{std::chrono::seconds{10}};  // silence that means lost
};

void describe(Fields& fields, NodeConfig& c);
void validate(const NodeConfig& c, Complaints& complaints);

}  // namespace warpsmith
