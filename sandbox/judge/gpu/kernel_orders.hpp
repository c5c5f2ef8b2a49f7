// SPDX-License-Identifier: Apache-2.0
// The arguments of the bench's and the stage's kernels: plain records, passed by value, with device
// addresses.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sandbox/judge/element_bound.hpp"
#include "sandbox/judge/element_values.hpp"
#include "sandbox/judge/gpu/chacha.hpp"

namespace warpsmith::sandbox {

/// Fills one tensor of floats.
struct FillOrder {
  ChachaKey key;
  uint64_t set = 0;  // number of the set of contents
  uint32_t tensor = 0;
  Dtype dtype = Dtype::f32;
  Distribution distribution = Distribution::normal;
  Domain domain = Domain::free;
  bool parameter = false;  // uses `rule` instead of `domain`
  ParameterRule rule;
  uint64_t row = 1;  // elements of the last axis
  uint64_t count = 0;
  void* out = nullptr;
};

/// The number of random words for each element.
WARPSMITH_HOST_DEVICE constexpr uint32_t planes_of(Distribution distribution) {
  if (distribution == Distribution::dense || distribution == Distribution::wide) return 1;
  return distribution == Distribution::sparse ? 2 : most_planes;
}

/// The value from an element's words, one per plane.
WARPSMITH_HOST_DEVICE inline float drawn_value(Distribution distribution,
                                               const uint32_t (&words)[most_planes]) {
  const auto half = [](uint32_t word) { return static_cast<uint16_t>(word & 0xFFFFU); };
  if (distribution == Distribution::dense) return dense_value(words[0]);
  if (distribution == Distribution::wide) return wide_value(words[0]);
  if (distribution == Distribution::sparse) return sparse_value(words[0], half(words[1]));
  const uint32_t sum =
      (words[0] & 0xFFFFU) + (words[0] >> 16U) + (words[1] & 0xFFFFU) + (words[1] >> 16U);
  const float value = normal_value(static_cast<int>(sum), half(words[2]));
  return distribution == Distribution::shifted ? value + shift : value;
}

/// The value of an element other than a row's huge one, before it is rounded to the tensor's type.
WARPSMITH_HOST_DEVICE inline float filled_value(const FillOrder& order, Distribution distribution,
                                                const uint32_t (&words)[most_planes]) {
  const float value = drawn_value(distribution, words);
  return order.parameter ? parameter_value(order.rule, value) : restricted(order.domain, value);
}

/// The sums of a comparison; start with zeros.
struct Tally {
  unsigned long long worst = 0;  // the bits of a double ≥ 0, which have the same order
  unsigned long long wrong = 0, nonfinite = 0, undefined = 0, undecided = 0;
};

/// Compares one output with float64 references.
struct ReferenceOrder {
  const void* output = nullptr;
  const double* expected = nullptr;
  const float* spread = nullptr;
  uint64_t count = 0;
  Scale scale;
  Dtype dtype = Dtype::f32;
  Tally* tally = nullptr;
};

/// Compares one output with another of the same type.
struct BaselineOrder {
  const void* output = nullptr;
  const void* baseline = nullptr;
  const float* profile = nullptr;
  uint64_t block = 64;  // elements per entry of the profile; a multiple of `pool`
  uint64_t count = 0;
  Scale scale;
  Dtype dtype = Dtype::f32;
  Tally* tally = nullptr;
};

/// Writes 8 bytes repeatedly.
struct PatternOrder {
  void* out = nullptr;  // aligned to 8
  uint64_t bytes = 0;
  uint64_t pattern = 0;
};

/// Sets `*changed` to 1 if a byte of the zone is not `value`.
struct GuardOrder {
  const unsigned char* zone = nullptr;
  uint64_t bytes = 0;
  unsigned char value = 0;
  unsigned* changed = nullptr;
};

/// Adds a content hash to `*hash`.
struct HashOrder {
  const void* in = nullptr;  // aligned to 8
  uint64_t bytes = 0;
  uint64_t key = 0;   // secret: without it, collisions cannot be constructed
  uint64_t salt = 0;  // different for each tensor
  unsigned long long* hash = nullptr;
};

/// Computes the largest spread of each block (see `raised`).
struct ProfileOrder {
  const float* spread = nullptr;
  uint64_t count = 0;
  uint64_t block = 64;
  float* out = nullptr;  // one per block
};

/// One element of an output, as in SamplePosition.
struct GatherPlace {
  uint64_t offset = 0;
  uint64_t bytes = 0;  // 1, 2, 4 or 8
};

/// Reads elements anywhere in a memory, into 8 bytes each.
struct GatherOrder {
  const unsigned char* from = nullptr;
  const GatherPlace* places = nullptr;
  uint64_t count = 0;
  uint64_t* out = nullptr;
};

}  // namespace warpsmith::sandbox
