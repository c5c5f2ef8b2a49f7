// SPDX-License-Identifier: Apache-2.0
// The header that candidates of contract `cpu` may include, as text.
#include "sandbox/contract/cpu/cpu_contract.hpp"

namespace warpsmith::sandbox {

// `simd("notinbranch")` declares the vector variants of glibc's libmvec, so that a loop around the
// call is vectorised. Functions of the second group compile to instructions, not calls.
const char* const cpu_header_text = R"header(#ifndef WARPSMITH_H
#define WARPSMITH_H
#include <stddef.h>
#include <stdint.h>
#ifndef INFINITY
#define INFINITY (__builtin_inff ())
#endif
#ifndef NAN
#define NAN (__builtin_nanf (""))
#endif
#define WARPSMITH_MATH1(name) \
  float name##f(float) noexcept __attribute__((simd("notinbranch"))); \
  double name(double) noexcept __attribute__((simd("notinbranch")));
#define WARPSMITH_MATH2(name) \
  float name##f(float, float) noexcept __attribute__((simd("notinbranch"))); \
  double name(double, double) noexcept __attribute__((simd("notinbranch")));
#define WARPSMITH_PLAIN1(name) \
  float name##f(float) noexcept; \
  double name(double) noexcept;
#define WARPSMITH_PLAIN2(name) \
  float name##f(float, float) noexcept; \
  double name(double, double) noexcept;
extern "C" {
WARPSMITH_MATH1(acos) WARPSMITH_MATH1(acosh) WARPSMITH_MATH1(asin) WARPSMITH_MATH1(asinh)
WARPSMITH_MATH1(atan) WARPSMITH_MATH1(atanh) WARPSMITH_MATH1(cbrt) WARPSMITH_MATH1(cos)
WARPSMITH_MATH1(cosh) WARPSMITH_MATH1(erf) WARPSMITH_MATH1(erfc) WARPSMITH_MATH1(exp)
WARPSMITH_MATH1(exp2) WARPSMITH_MATH1(exp10) WARPSMITH_MATH1(expm1) WARPSMITH_MATH1(log)
WARPSMITH_MATH1(log10) WARPSMITH_MATH1(log1p) WARPSMITH_MATH1(log2) WARPSMITH_MATH1(sin)
WARPSMITH_MATH1(sinh) WARPSMITH_MATH1(tan) WARPSMITH_MATH1(tanh)
WARPSMITH_MATH2(atan2) WARPSMITH_MATH2(hypot) WARPSMITH_MATH2(pow)
WARPSMITH_PLAIN1(sqrt) WARPSMITH_PLAIN1(fabs) WARPSMITH_PLAIN1(floor) WARPSMITH_PLAIN1(ceil)
WARPSMITH_PLAIN1(trunc) WARPSMITH_PLAIN1(rint) WARPSMITH_PLAIN1(nearbyint)
WARPSMITH_PLAIN1(round)
WARPSMITH_PLAIN2(fmax) WARPSMITH_PLAIN2(fmin) WARPSMITH_PLAIN2(copysign) WARPSMITH_PLAIN2(fmod)
WARPSMITH_PLAIN2(remainder)
float fmaf(float, float, float) noexcept;
double fma(double, double, double) noexcept;
void* memcpy(void*, const void*, size_t) noexcept;
void* memset(void*, int, size_t) noexcept;
}
#undef WARPSMITH_MATH1
#undef WARPSMITH_MATH2
#undef WARPSMITH_PLAIN1
#undef WARPSMITH_PLAIN2
#endif
)header";

}  // namespace warpsmith::sandbox
