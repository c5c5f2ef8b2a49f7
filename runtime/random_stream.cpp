// SPDX-License-Identifier: Apache-2.0
#include "runtime/random_stream.hpp"

#include <fmt/format.h>

#include <string>

#include "runtime/bytes.hpp"

namespace warpsmith {

std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> c, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53U} * c[0];
    const uint64_t p1 = uint64_t{0xCD9E8D57U} * c[2];
    c = {static_cast<uint32_t>(p1 >> 32U) ^ c[1] ^ key[0], static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32U) ^ c[3] ^ key[1], static_cast<uint32_t>(p0)};
    key[0] += 0x9E3779B9U;
    key[1] += 0xBB67AE85U;
  }
  return c;
}

RandomStream::RandomStream(uint64_t seed, std::string_view owner, uint64_t index) : lane_(index) {
  const uint64_t key = checksum64(fmt::format("{}/{}", seed, owner));
  key_ = {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32U)};
}

void RandomStream::refill() {
  block_ = philox4x32({static_cast<uint32_t>(counter_), static_cast<uint32_t>(counter_ >> 32U),
                       static_cast<uint32_t>(lane_), static_cast<uint32_t>(lane_ >> 32U)},
                      key_);
  ++counter_;
  used_ = 0;
}

uint32_t RandomStream::operator()() {
  if (used_ == 4) refill();
  return block_[used_++];
}

uint64_t RandomStream::next_u64() {
  const uint64_t low = (*this)();
  return low | (uint64_t{(*this)()} << 32U);
}

double RandomStream::uniform() {
  return static_cast<double>(next_u64() >> 11U) * 0x1.0p-53;
}

uint64_t RandomStream::below(uint64_t bound) {
  const uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
  uint64_t draw = next_u64();
  while (draw >= limit) draw = next_u64();
  return draw % bound;
}

void RandomStream::seek(uint64_t position) {
  counter_ = position;
  used_ = 4;
}

}  // namespace warpsmith
