/* exp, erf, tanh and the activations made of them, four values at a time.
 *
 * Errors were measured over all floats of the stated range against the double functions (tests/kernels/test_math.py):
 * exp 1 ULP where the result is normal, 0 below; erf 2e-7 absolute; tanh and sigmoid 3e-7 absolute. NaN stays NaN.
 */
#ifndef ONNXLET_ACTIVATIONS_H
#define ONNXLET_ACTIVATIONS_H

#include "simd.h"

/* e^x: 2^n e^r with |r| <= ln 2 / 2, e^r by a polynomial (Cephes' coefficients). */
INLINE f32x4 exp_f32(f32x4 x) {
  const f32x4 top = splat_f32(88.72283935546875f), bottom = splat_f32(-87.33654f);
  const i32x4 over = (i32x4)(x > top), under = (i32x4)(x < bottom), number = (i32x4)(x == x);
  const f32x4 inside = select_f32(over | under | ~number, splat_f32(0), x);
  const f32x4 n = nearest_f32(inside * splat_f32(1.44269504088896341f));
  f32x4 r = madd(n, splat_f32(-0.693359375f), inside);
  r = madd(n, splat_f32(2.12194440e-4f), r);
  f32x4 p = splat_f32(1.9875691500e-4f);
  p = madd(p, r, splat_f32(1.3981999507e-3f));
  p = madd(p, r, splat_f32(8.3334519073e-3f));
  p = madd(p, r, splat_f32(4.1665795894e-2f));
  p = madd(p, r, splat_f32(1.6666665459e-1f));
  p = madd(p, r, splat_f32(5.0000001201e-1f));
  p = madd(p, r * r, r + splat_f32(1));
  const i32x4 half = truncate_f32(n) >> 1, rest = truncate_f32(n) - half; /* 2^128 is no float, 2^64 2^64 works out */
  p = p * (f32x4)((half + splat_i32(127)) << 23) * (f32x4)((rest + splat_i32(127)) << 23);
  p = select_f32(over, splat_f32(INFINITY), p);
  p = select_f32(under, splat_f32(0), p);
  return select_f32(number, p, x);
}

/* erf by Abramowitz and Stegun 7.1.26, which is good to 1.5e-7. */
INLINE f32x4 erf_f32(f32x4 x) {
  const f32x4 z = abs_f32(x), t = splat_f32(1) / madd(z, splat_f32(0.3275911f), splat_f32(1));
  f32x4 p = splat_f32(1.061405429f);
  p = madd(p, t, splat_f32(-1.453152027f));
  p = madd(p, t, splat_f32(1.421413741f));
  p = madd(p, t, splat_f32(-0.284496736f));
  p = madd(p, t, splat_f32(0.254829592f));
  const f32x4 magnitude = splat_f32(1) - p * t * exp_f32(-(z * z));
  return (f32x4)((i32x4)magnitude | ((i32x4)x & splat_i32(INT32_MIN)));
}

INLINE f32x4 sigmoid_f32(f32x4 x) { return splat_f32(1) / (splat_f32(1) + exp_f32(-x)); }

/* Near 0 a polynomial (Cephes'), elsewhere by exp: 1 - 2 / (e^2x + 1) cancels there. */
INLINE f32x4 tanh_f32(f32x4 x) {
  const f32x4 z = abs_f32(x), s = x * x;
  f32x4 p = splat_f32(-5.70498872745e-3f);
  p = madd(p, s, splat_f32(2.06390887954e-2f));
  p = madd(p, s, splat_f32(-5.37397155531e-2f));
  p = madd(p, s, splat_f32(1.33314422036e-1f));
  p = madd(p, s, splat_f32(-3.33332819422e-1f));
  const f32x4 small = madd(p * s, x, x);
  const f32x4 large = splat_f32(1) - splat_f32(2) / (exp_f32(z + z) + splat_f32(1));
  const f32x4 by_sign = (f32x4)((i32x4)large | ((i32x4)x & splat_i32(INT32_MIN)));
  return select_f32((i32x4)(z < splat_f32(0.625f)), small, by_sign);
}

INLINE f32x4 clip_f32(f32x4 x, float low, float high) { return min_f32(max_f32(x, splat_f32(low)), splat_f32(high)); }

typedef enum {
  RELU,
  SIGMOID,
  TANH,
  GELU_ERF,
  GELU_TANH,
  SILU,
  HARD_SWISH,
  HARD_SIGMOID,
  EXP,
  ERF,
  SQRT,
  ABS,
  NEGATE,
  RECIPROCAL,
  ACTIVATIONS
} Activation;

INLINE f32x4 activate(f32x4 x, Activation activation) {
  switch (activation) {
    case RELU: return max_f32(x, splat_f32(0));
    case SIGMOID: return sigmoid_f32(x);
    case TANH: return tanh_f32(x);
    case GELU_ERF: return splat_f32(0.5f) * x * (splat_f32(1) + erf_f32(x * splat_f32(0.70710678118654752f)));
    case GELU_TANH: {
      const f32x4 inner = splat_f32(0.79788456080286536f) * madd(splat_f32(0.044715f) * x * x, x, x);
      return splat_f32(0.5f) * x * (splat_f32(1) + tanh_f32(inner));
    }
    case SILU: return x * sigmoid_f32(x);
    case HARD_SWISH: return x * clip_f32(madd(x, splat_f32(1.0f / 6), splat_f32(0.5f)), 0, 1);
    case HARD_SIGMOID: return clip_f32(madd(x, splat_f32(0.2f), splat_f32(0.5f)), 0, 1);
    case EXP: return exp_f32(x);
    case ERF: return erf_f32(x);
    case SQRT: return sqrt_f32(x);
    case ABS: return abs_f32(x);
    case NEGATE: return -x;
    default: return splat_f32(1) / x; /* RECIPROCAL */
  }
}

#endif
