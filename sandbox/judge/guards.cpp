// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/guards.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace warpsmith::sandbox {
namespace {

bool is_guard(std::span<const std::byte> zone) {
  return std::all_of(zone.begin(), zone.end(), [](std::byte b) { return b == guard_value; });
}

}  // namespace

uint64_t poison_pattern(Dtype dtype) {
  switch (dtype) {
    case Dtype::f32:
      return 0xFFA5A5A57FA5A5A5ULL;  // two NaNs of opposite sign
    case Dtype::f64:
      return 0x7FF5A5A5A5A5A5A5ULL;  // a signalling NaN
    case Dtype::f16:
      return 0x7DA5FDA57DA5FDA5ULL;  // NaNs
    case Dtype::bf16:
      return 0x7FA5FFA57FA5FFA5ULL;  // NaNs
    case Dtype::i64:
    case Dtype::i32:
      return 0x8BADF00D8BADF00DULL;
    case Dtype::i16:
      return 0x8BAD8BAD8BAD8BADULL;
    case Dtype::i8:
      return 0x8B8B8B8B8B8B8B8BULL;
    case Dtype::u8:
    case Dtype::boolean:
      break;
  }
  return 0xA5A5A5A5A5A5A5A5ULL;
}

void poison(Dtype dtype, std::span<std::byte> output) {
  const uint64_t pattern = poison_pattern(dtype);
  while (output.size() >= sizeof pattern) {
    std::memcpy(output.data(), &pattern, sizeof pattern);
    output = output.subspan(sizeof pattern);
  }
  std::memcpy(output.data(), &pattern, output.size());
}

void arm_guards(const SharedBuffers& outputs, uint32_t set) {
  for (const ByteZone& zone : zones_between_outputs(outputs.layout())) {
    std::ranges::fill(outputs.zone(set, zone), guard_value);
  }
}

bool guards_intact(const SharedBuffers& outputs, uint32_t set) {
  return std::ranges::all_of(zones_between_outputs(outputs.layout()), [&](const ByteZone& zone) {
    return is_guard(outputs.zone(set, zone));
  });
}

uint64_t content_hash(std::span<const std::byte> bytes) {
  constexpr uint64_t prime = 0x9E3779B97F4A7C15ULL;
  std::array<uint64_t, 8> lanes{1, 2, 3, 4, 5, 6, 7, 8};
  const size_t size = bytes.size();
  while (bytes.size() >= sizeof lanes) {
    std::array<uint64_t, 8> words;
    std::memcpy(words.data(), bytes.data(), sizeof words);
    for (size_t i = 0; i < lanes.size(); ++i) {
      lanes[i] = (lanes[i] ^ words[i]) * prime;
      lanes[i] ^= lanes[i] >> 29U;
    }
    bytes = bytes.subspan(sizeof lanes);
  }
  uint64_t hash = size;
  for (const std::byte b : bytes) hash = (hash ^ static_cast<uint64_t>(b)) * prime;
  for (const uint64_t lane : lanes) hash = ((hash ^ lane) * prime) ^ (hash >> 31U);
  return hash;
}

uint64_t inputs_hash(const SharedBuffers& inputs, uint32_t set) {
  const auto& slots = inputs.layout().slots;
  uint64_t hash = 0;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (!slots[i].output) hash = hash * 31 + content_hash(inputs.tensor(set, i));
  }
  return hash;
}

}  // namespace warpsmith::sandbox
