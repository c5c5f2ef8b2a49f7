// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/inputs.hpp"

#include <algorithm>
#include <vector>

#include "sandbox/commit/cold_copy.hpp"
#include "sandbox/commit/tensor_size.hpp"

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
