// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/inputs.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "sandbox/commit/shared_buffers.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr size_t chunk = 4096;  // floats: 16 KiB, stays in the first-level cache
constexpr float inverse_2_24 = 0x1.0p-24F;

struct Scratch {
  alignas(64) std::array<float, chunk> values;
  alignas(64) std::array<uint32_t, chunk> words;
  alignas(64) std::array<uint16_t, 5 * chunk> halves;  // five planes
};

std::span<std::byte> bytes_of(auto& array, size_t count) {
  return std::as_writable_bytes(std::span{array.data(), count});
}

float uniform(uint32_t word) {
  return static_cast<float>(word >> 8U) * inverse_2_24;
}

void make_dense(Scratch& s, size_t count, Keystream& stream) {
  stream.fill(bytes_of(s.words, count));
  for (size_t i = 0; i < count; ++i) s.values[i] = 2.0F * uniform(s.words[i]) - 1.0F;
}

/// Irwin–Hall: four 16-bit uniforms have mean 131,070 and deviation 37,837; the fifth plane fills
/// the mantissa.
void make_normal(Scratch& s, size_t count, Keystream& stream) {
  stream.fill(bytes_of(s.halves, 5 * count));
  const uint16_t* p = s.halves.data();
  for (size_t i = 0; i < count; ++i) {
    const int sum = int{p[i]} + int{p[count + i]} + int{p[2 * count + i]} + int{p[3 * count + i]};
    const float fine = static_cast<float>(int{p[4 * count + i]}) * 0x1.0p-16F - 0.5F;
    s.values[i] = (static_cast<float>(sum - 131070) + fine) * (1.0F / 37837.0F);
  }
}

/// ±2^(low + [0, span)): uniform in the exponent's integer part and in the mantissa.
float magnitude(uint32_t word, int low, uint32_t span) {
  const auto exponent = static_cast<uint32_t>(127 + low) + ((word >> 24U) & 0x7FU) % span;
  return std::bit_cast<float>((word & 0x80000000U) | (exponent << 23U) | (word & 0x7FFFFFU));
}

void make_wide(Scratch& s, size_t count, Keystream& stream) {
  stream.fill(bytes_of(s.words, count));
  for (size_t i = 0; i < count; ++i) s.values[i] = magnitude(s.words[i], -8, 16);
}

void make_sparse(Scratch& s, size_t count, Keystream& stream) {
  stream.fill(bytes_of(s.words, count));
  stream.fill(bytes_of(s.halves, count));
  for (size_t i = 0; i < count; ++i) {
    s.values[i] = s.halves[i] % 16 == 0 ? magnitude(s.words[i], -1, 8) : 0.0F;
  }
}

void make_values(Distribution distribution, Scratch& s, size_t count, Keystream& stream) {
  switch (distribution) {
    case Distribution::normal:
    case Distribution::huge:
      return make_normal(s, count, stream);
    case Distribution::shifted:
      make_normal(s, count, stream);
      for (size_t i = 0; i < count; ++i) s.values[i] += 2.5F;
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
  for (float& v : values) v = std::fabs(v);
  if (domain == Domain::non_negative) return;
  for (float& v : values) v = 0.001F + 0.998F * (v - std::floor(v));
}

void emit(std::span<float> to, std::span<const float> from) {
  const bool aligned = reinterpret_cast<uintptr_t>(to.data()) % 64 == 0;
  if (aligned) return stream_copy(std::as_writable_bytes(to), std::as_bytes(from));
  std::copy(from.begin(), from.end(), to.begin());
}

/// Where in a row: a quarter of the rows has it at each end, where kernels that stop or start one
/// off leave an element out; the others anywhere.
size_t place_of_huge(uint32_t draw, uint32_t where, size_t length) {
  constexpr uint32_t quarter = 1U << 30U;
  if (where < quarter) return 0;
  if (where < 2 * quarter) return length - 1;
  return uint64_t{draw} * length >> 32U;
}

/// Makes one element of each row huge.
void place_huge(std::span<float> out, const FillRule& rule, Keystream& stream) {
  const auto row = static_cast<size_t>(std::max<int64_t>(1, rule.row));
  if (row < 2 || rule.domain == Domain::unit) return;
  std::vector<uint32_t> draws(3 * ((out.size() + row - 1) / row));
  stream.fill(std::as_writable_bytes(std::span{draws}));
  for (size_t start = 0, k = 0; start < out.size(); start += row, k += 3) {
    const size_t length = std::min(row, out.size() - start);
    const size_t at = start + place_of_huge(draws[k], draws[k + 2], length);
    const float value = magnitude(draws[k + 1], 10, 1);
    out[at] = rule.domain == Domain::free ? value : std::fabs(value);
  }
}

}  // namespace

std::string_view to_string(Distribution distribution) noexcept {
  static constexpr std::array<std::string_view, distribution_count> names{
      "normal", "shifted", "wide", "huge", "sparse", "dense"};
  const auto index = static_cast<size_t>(distribution);
  return index < names.size() ? names[index] : "unknown";
}

std::string_view to_string(Domain domain) noexcept {
  static constexpr std::array<std::string_view, 3> names{"free", "non_negative", "unit"};
  const auto index = static_cast<size_t>(domain);
  return index < names.size() ? names[index] : "unknown";
}

void fill_floats(std::span<float> out, const FillRule& rule, Keystream& stream) {
  Scratch s;  // every element that is read below was written before
  for (size_t start = 0; start < out.size(); start += chunk) {
    const size_t count = std::min(chunk, out.size() - start);
    make_values(rule.distribution, s, count, stream);
    restrict_to(rule.domain, {s.values.data(), count});
    emit(out.subspan(start, count), {s.values.data(), count});
  }
  if (rule.distribution == Distribution::huge) place_huge(out, rule, stream);
}

void fill_parameter(std::span<float> out, const ParameterRule& rule, Keystream& stream) {
  const bool constant = rule.deviation == 0;
  const FillRule fill{.distribution = constant ? Distribution::dense : Distribution::normal};
  const double scale = constant ? 0.5 : rule.deviation;
  std::vector<float> values(out.size());
  fill_floats(values, fill, stream);
  for (float& v : values) {
    v = static_cast<float>(rule.mean + scale * static_cast<double>(v));
    if (rule.non_negative) v = std::fabs(v);
  }
  emit(out, values);
}

}  // namespace warpsmith::sandbox
