// SPDX-License-Identifier: Apache-2.0
// The words that plan.toml uses for enumerators.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "sandbox/plan/plan.hpp"

namespace warpsmith::sandbox {

template <class E, size_t n>
using Names = std::array<std::pair<std::string_view, E>, n>;

inline constexpr Names<ComputeType, 2> compute_names{
    {{"f32", ComputeType::f32}, {"tf32", ComputeType::tf32}}};
inline constexpr Names<Epilogue, 6> epilogue_names{{{"none", Epilogue::none},
                                                    {"relu", Epilogue::relu},
                                                    {"gelu", Epilogue::gelu},
                                                    {"bias", Epilogue::bias},
                                                    {"bias_relu", Epilogue::bias_relu},
                                                    {"bias_gelu", Epilogue::bias_gelu}}};
inline constexpr Names<Swizzle, 4> swizzle_names{
    {{"none", Swizzle::none}, {"32", Swizzle::b32}, {"64", Swizzle::b64}, {"128", Swizzle::b128}}};

/// Requires a value in the list.
template <class E, size_t n>
std::string_view name_of(E value, const Names<E, n>& names) {
  for (const auto& [name, known] : names) {
    if (known == value) return name;
  }
  return "?";
}

}  // namespace warpsmith::sandbox
