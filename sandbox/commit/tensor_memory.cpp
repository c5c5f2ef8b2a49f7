// SPDX-License-Identifier: Apache-2.0
#include "sandbox/commit/tensor_memory.hpp"

#include <emmintrin.h>

#include <cassert>
#include <cstring>

namespace warpsmith::sandbox {

void stream_copy(std::span<std::byte> to, std::span<const std::byte> from) {
  assert(to.size() == from.size() && "a copy between equal sizes");
  const size_t whole = to.size() / sizeof(__m128i);
  auto* target = reinterpret_cast<__m128i*>(to.data());
  const auto* source = reinterpret_cast<const __m128i*>(from.data());
  for (size_t i = 0; i < whole; ++i) _mm_stream_si128(target + i, _mm_loadu_si128(source + i));
  const size_t done = whole * sizeof(__m128i);
  if (done < to.size()) std::memcpy(to.data() + done, from.data() + done, to.size() - done);
  _mm_sfence();
}

void evict(std::span<const std::byte> bytes) {
  constexpr size_t line = 64;
  if (bytes.empty()) return;
  for (size_t at = 0; at < bytes.size(); at += line) _mm_clflush(bytes.data() + at);
  _mm_clflush(bytes.data() + bytes.size() - 1);
  _mm_mfence();
}

uint64_t element_bytes(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64:
    case Dtype::i64:
      return 8;
    case Dtype::f32:
    case Dtype::i32:
      return 4;
    case Dtype::f16:
    case Dtype::bf16:
    case Dtype::i16:
      return 2;
    case Dtype::i8:
    case Dtype::u8:
    case Dtype::boolean:
      return 1;
  }
  return 1;
}

bool is_float(Dtype dtype) {
  return dtype == Dtype::f32 || dtype == Dtype::f64 || dtype == Dtype::f16 || dtype == Dtype::bf16;
}

uint64_t tensor_bytes(const TensorSpec& spec) {
  uint64_t bytes = element_bytes(spec.dtype);
  for (const int64_t extent : spec.shape) bytes *= static_cast<uint64_t>(extent);
  return bytes;
}

}  // namespace warpsmith::sandbox
