// SPDX-License-Identifier: Apache-2.0
#include "sandbox/contract/device/implicit_names.hpp"

#include <array>

namespace warpsmith::sandbox {
namespace {

constexpr const char* implicit_header = "warpsmith_implicit.h";

constexpr std::array standard_headers{"assert.h", "cassert",  "cfloat",  "climits",  "cmath",
                                      "cstddef",  "cstdint",  "cstdio",  "cstdlib",  "cstring",
                                      "float.h",  "limits.h", "math.h",  "stddef.h", "stdint.h",
                                      "stdio.h",  "stdlib.h", "string.h"};

// Integer types come from CUDA's own headers, or a source that includes these would declare them
// differently. NVRTC brings assert, printf, malloc, memcpy and the mathematical functions itself.
constexpr const char* implicit_text = R"(#pragma once
#include <cuda/std/climits>
#include <cuda/std/cstddef>
#include <cuda/std/cstdint>
typedef unsigned int uint;
typedef unsigned short ushort;
typedef unsigned long ulong;
__device__ inline void abort() { __trap(); }
#define RAND_MAX 2147483647
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fc00000)
#define HUGE_VALF INFINITY
#define HUGE_VAL __longlong_as_double(0x7ff0000000000000ll)
#define FLT_RADIX 2
#define FLT_MANT_DIG 24
#define FLT_DIG 6
#define FLT_MIN 1.17549435e-38f
#define FLT_MAX 3.40282347e+38f
#define FLT_EPSILON 1.19209290e-7f
#define FLT_MIN_EXP (-125)
#define FLT_MAX_EXP 128
#define DBL_MANT_DIG 53
#define DBL_DIG 15
#define DBL_MIN 2.2250738585072014e-308
#define DBL_MAX 1.7976931348623157e+308
#define DBL_EPSILON 2.2204460492503131e-16
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
namespace std {
using ::size_t; using ::ptrdiff_t;
using nullptr_t = decltype(nullptr);
using ::int8_t; using ::int16_t; using ::int32_t; using ::int64_t;
using ::uint8_t; using ::uint16_t; using ::uint32_t; using ::uint64_t;
using ::intptr_t; using ::uintptr_t; using ::intmax_t; using ::uintmax_t;
using ::abs; using ::acos; using ::acosh; using ::asin; using ::asinh; using ::atan;
using ::atan2; using ::atanh; using ::cbrt; using ::ceil; using ::copysign; using ::cos;
using ::cosh; using ::erf; using ::erfc; using ::exp; using ::exp2; using ::expm1; using ::fabs;
using ::fdim; using ::floor; using ::fma; using ::fmax; using ::fmin; using ::fmod; using ::frexp;
using ::hypot; using ::ilogb; using ::isfinite; using ::isinf; using ::isnan; using ::ldexp;
using ::lgamma; using ::llrint; using ::llround; using ::log; using ::log10; using ::log1p;
using ::log2; using ::logb; using ::lrint; using ::lround; using ::modf; using ::nearbyint;
using ::nextafter; using ::pow; using ::remainder; using ::remquo; using ::rint; using ::round;
using ::scalbln; using ::scalbn; using ::signbit; using ::sin; using ::sinh; using ::sqrt;
using ::tan; using ::tanh; using ::tgamma; using ::trunc;
using ::malloc; using ::free; using ::memcpy; using ::memset; using ::printf;
}
)";

bool has(const std::string& log, const char* text) {
  return log.find(text) != std::string::npos;
}

}  // namespace

bool lacks_implicit_names(const std::string& log) {
  return has(log, "\" is undefined") || has(log, "namespace \"std\" has no member") ||
         has(log, "open source file");
}

CudaSource with_implicit_names(CudaSource source) {
  source.files[implicit_header] = implicit_text;
  for (const char* header : standard_headers) {
    source.files.try_emplace(header, std::string("#include \"") + implicit_header + "\"\n");
  }
  source.options.push_back(std::string("--pre-include=") + implicit_header);
  return source;
}

}  // namespace warpsmith::sandbox
