// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/inputs.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "sandbox/commit/tensor_memory.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr size_t chunk = 4096;  // 16 KiB of floats: fits the first-level cache

struct Scratch {
  alignas(64) std::array<float, chunk> values;
  alignas(64) std::array<uint32_t, chunk> words;
  alignas(64) std::array<uint16_t, 5 * chunk> halves;  // five planes
};

std::span<std::byte> bytes_of(auto& array, size_t count) {
  return std::as_writable_bytes(std::span{array.data(), count});
}

void make_dense(Scratch& s, size_t count, Keystream& stream) {
  stream.fill(bytes_of(s.words, count));
  for (size_t i = 0; i < count; ++i) s.values[i] = dense_value(s.words[i]);
}

void make_normal(Scratch& s, size_t count, Keystream& stream) {
  stream.fill(bytes_of(s.halves, 5 * count));
  const uint16_t* p = s.halves.data();
  for (size_t i = 0; i < count; ++i) {
    const int sum = int{p[i]} + int{p[count + i]} + int{p[2 * count + i]} + int{p[3 * count + i]};
    s.values[i] = normal_value(sum, p[4 * count + i]);
  }
}

void make_wide(Scratch& s, size_t count, Keystream& stream) {
  stream.fill(bytes_of(s.words, count));
  for (size_t i = 0; i < count; ++i) s.values[i] = wide_value(s.words[i]);
}

void make_sparse(Scratch& s, size_t count, Keystream& stream) {
  stream.fill(bytes_of(s.words, count));
  stream.fill(bytes_of(s.halves, count));
  for (size_t i = 0; i < count; ++i) s.values[i] = sparse_value(s.words[i], s.halves[i]);
}

void make_values(Distribution distribution, Scratch& s, size_t count, Keystream& stream) {
  switch (distribution) {
    case Distribution::normal:
    case Distribution::huge:
      return make_normal(s, count, stream);
    case Distribution::shifted:
      make_normal(s, count, stream);
      for (size_t i = 0; i < count; ++i) s.values[i] += shift;
      return;
    case Distribution::wide:
      return make_wide(s, count, stream);
    case Distribution::sparse:
      return make_sparse(s, count, stream);
    case Distribution::dense:
      return make_dense(s, count, stream);
  }
}

void restrict_to(Domain domain, std::span<float> values) {
  if (domain == Domain::free) return;
  for (float& v : values) v = restricted(domain, v);
}

void emit(std::span<float> to, std::span<const float> from) {
  const bool aligned = reinterpret_cast<uintptr_t>(to.data()) % 64 == 0;
  if (aligned) return stream_copy(std::as_writable_bytes(to), std::as_bytes(from));
  std::copy(from.begin(), from.end(), to.begin());
}

/// Makes one element of each row huge.
void place_huge(std::span<float> out, const FillRule& rule, Keystream& stream) {
  if (!has_huge(rule.domain, rule.row)) return;
  const auto row = static_cast<size_t>(rule.row);
  std::vector<uint32_t> draws(3 * ((out.size() + row - 1) / row));
  stream.fill(std::as_writable_bytes(std::span{draws}));
  for (size_t start = 0, k = 0; start < out.size(); start += row, k += 3) {
    const size_t length = std::min(row, out.size() - start);
    out[start + place_of_huge(draws[k], draws[k + 2], length)] =
        huge_value(rule.domain, draws[k + 1]);
  }
}

}  // namespace

struct Keystream::Cipher {
  std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> context{EVP_CIPHER_CTX_new(),
                                                                          EVP_CIPHER_CTX_free};
};

Keystream::Keystream(const StreamKey& key, uint64_t set, uint32_t tensor)
    : cipher_(std::make_unique<Cipher>()) {
  // Counter block: set (8 bytes), tensor (4), block number (4, big-endian, incremented by AES-CTR).
  std::array<uint8_t, 16> counter{};
  std::memcpy(counter.data(), &set, sizeof set);
  std::memcpy(counter.data() + 8, &tensor, sizeof tensor);
  if (!cipher_->context || EVP_EncryptInit_ex(cipher_->context.get(), EVP_aes_256_ctr(), nullptr,
                                              key.data(), counter.data()) != 1) {
    throw std::runtime_error("OpenSSL offers no AES-256-CTR");
  }
}

Keystream::~Keystream() = default;

void Keystream::fill(std::span<std::byte> out) {
  static constexpr std::array<unsigned char, 16384> zeros{};
  while (!out.empty()) {
    const size_t part = std::min(out.size(), zeros.size());
    int written = 0;
    const int ok =
        EVP_EncryptUpdate(cipher_->context.get(), reinterpret_cast<unsigned char*>(out.data()),
                          &written, zeros.data(), static_cast<int>(part));
    if (ok != 1 || static_cast<size_t>(written) != part) {
      throw std::runtime_error("AES-256-CTR stopped");
    }
    out = out.subspan(part);
  }
}

void fill_floats(std::span<float> out, const FillRule& rule, Keystream& stream) {
  Scratch s;  // uninitialised: elements are written before they are read
  for (size_t start = 0; start < out.size(); start += chunk) {
    const size_t count = std::min(chunk, out.size() - start);
    make_values(rule.distribution, s, count, stream);
    restrict_to(rule.domain, {s.values.data(), count});
    emit(out.subspan(start, count), {s.values.data(), count});
  }
  if (rule.distribution == Distribution::huge) place_huge(out, rule, stream);
}

void fill_parameter(std::span<float> out, const ParameterRule& rule, Keystream& stream) {
  std::vector<float> values(out.size());
  fill_floats(values, {.distribution = distribution_of(rule)}, stream);
  for (float& v : values) v = parameter_value(rule, v);
  emit(out, values);
}

}  // namespace warpsmith::sandbox
