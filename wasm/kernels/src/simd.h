/* Vectors of 16 bytes, for WebAssembly (SIMD128, relaxed SIMD), x86-64 and, slower, anything else.
 *
 * Arithmetic is the compiler's own (vector_size), so that most kernels read as formulas; what has no operator in C is a
 * function here, each with the meaning of WebAssembly's instruction of that name.
 */
#ifndef ONNXLET_SIMD_H
#define ONNXLET_SIMD_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__wasm_simd128__)
#include <wasm_simd128.h>
#elif defined(__SSE4_1__)
#include <immintrin.h>
#endif

typedef float f32x4 __attribute__((vector_size(16)));
typedef int32_t i32x4 __attribute__((vector_size(16)));
typedef int16_t i16x8 __attribute__((vector_size(16)));
typedef int8_t i8x16 __attribute__((vector_size(16)));
typedef uint8_t u8x16 __attribute__((vector_size(16)));

#define INLINE static inline __attribute__((always_inline))
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#define KEEP_ROLLED _Pragma("clang loop unroll(disable)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#define KEEP_ROLLED _Pragma("GCC unroll 1")
#endif

/* LLVM folds sums in several accumulators back into one chain, at 0.7 of the speed; it cannot see through this. */
#if defined(__wasm__)
#define PIN(vector) __asm__ volatile("" : "+r"(vector))
#else
#define PIN(vector) (void)(vector)
#endif

INLINE f32x4 load_f32(const float *p) {
  f32x4 v;
  memcpy(&v, p, sizeof v);
  return v;
}

INLINE void store_f32(float *p, f32x4 v) { memcpy(p, &v, sizeof v); }

INLINE f32x4 splat_f32(float x) { return (f32x4){x, x, x, x}; }

INLINE i32x4 splat_i32(int32_t x) { return (i32x4){x, x, x, x}; }

/* a * b + c, rounded once or twice: whichever is faster. */
INLINE f32x4 madd(f32x4 a, f32x4 b, f32x4 c) {
#if defined(__wasm_relaxed_simd__)
  return (f32x4)wasm_f32x4_relaxed_madd((v128_t)a, (v128_t)b, (v128_t)c);
#else
  return a * b + c;
#endif
}

/* Lanes of a where the mask's lanes are all ones, else of b. */
INLINE f32x4 select_f32(i32x4 mask, f32x4 a, f32x4 b) { return (f32x4)(((i32x4)a & mask) | ((i32x4)b & ~mask)); }

/* The greater of two; NaN where either is NaN. */
INLINE f32x4 max_f32(f32x4 a, f32x4 b) {
#if defined(__wasm_simd128__)
  return (f32x4)wasm_f32x4_max((v128_t)a, (v128_t)b);
#else
  return select_f32((i32x4)(a != a) | (i32x4)(a > b), a, b);
#endif
}

INLINE f32x4 min_f32(f32x4 a, f32x4 b) {
#if defined(__wasm_simd128__)
  return (f32x4)wasm_f32x4_min((v128_t)a, (v128_t)b);
#else
  return select_f32((i32x4)(a != a) | (i32x4)(a < b), a, b);
#endif
}

/* To the nearest integer, ties to even. */
INLINE f32x4 nearest_f32(f32x4 a) {
#if defined(__wasm_simd128__)
  return (f32x4)wasm_f32x4_nearest((v128_t)a);
#elif defined(__SSE4_1__)
  return (f32x4)_mm_round_ps((__m128)a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#else
  return (f32x4){rintf(a[0]), rintf(a[1]), rintf(a[2]), rintf(a[3])};
#endif
}

/* Towards zero; the nearest int32 where it does not fit, 0 for NaN. */
INLINE i32x4 truncate_f32(f32x4 a) {
#if defined(__wasm_simd128__)
  return (i32x4)wasm_i32x4_trunc_sat_f32x4((v128_t)a);
#else
  const f32x4 top = splat_f32(2147483648.0f);
  const f32x4 number = select_f32((i32x4)(a == a), a, splat_f32(0));
  const f32x4 inside = select_f32((i32x4)(number < top) & (i32x4)(number >= -top), number, splat_f32(0));
  const i32x4 over = (i32x4)(number >= top), under = (i32x4)(number < -top);
  return (__builtin_convertvector(inside, i32x4) & ~over & ~under) | (over & splat_i32(INT32_MAX)) |
         (under & splat_i32(INT32_MIN));
#endif
}

INLINE f32x4 to_f32(i32x4 a) { return __builtin_convertvector(a, f32x4); }

INLINE f32x4 sqrt_f32(f32x4 a) {
#if defined(__wasm_simd128__)
  return (f32x4)wasm_f32x4_sqrt((v128_t)a);
#elif defined(__SSE4_1__)
  return (f32x4)_mm_sqrt_ps((__m128)a);
#else
  return (f32x4){sqrtf(a[0]), sqrtf(a[1]), sqrtf(a[2]), sqrtf(a[3])};
#endif
}

INLINE f32x4 abs_f32(f32x4 a) { return (f32x4)((i32x4)a & splat_i32(INT32_MAX)); }

/* Sum and extremes over the four lanes. */
INLINE float sum_lanes(f32x4 a) { return (a[0] + a[2]) + (a[1] + a[3]); }

#endif
