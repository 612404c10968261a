/* Reductions of the middle of x [outer, n, inner] to y [outer, inner]. params: kind, outer, n, inner */
#include "kernels.h"
#include "simd.h"

typedef enum { SUM, MEAN, LARGEST, SMALLEST, PRODUCT, SUM_OF_SQUARES, SUM_OF_ABSOLUTES, REDUCTIONS } Reduction;

static bool reduce_needs(const int32_t *p, int count, int64_t *bytes) {
  (void)count;
  if (p[0] < 0 || p[0] >= REDUCTIONS || p[1] < 0 || p[2] < 0 || p[3] < 0) return false;
  bytes[0] = (int64_t)p[1] * p[2] * p[3] * 4;
  bytes[1] = (int64_t)p[1] * p[3] * 4;
  return bytes[0] <= INT32_MAX;
}

INLINE float neutral(const Reduction kind) {
  switch (kind) {
    case LARGEST: return -INFINITY;
    case SMALLEST: return INFINITY;
    case PRODUCT: return 1;
    default: return 0;
  }
}

INLINE f32x4 join(f32x4 sum, f32x4 x, const Reduction kind) {
  switch (kind) {
    case LARGEST: return max_f32(sum, x);
    case SMALLEST: return min_f32(sum, x);
    case PRODUCT: return sum * x;
    case SUM_OF_SQUARES: return madd(x, x, sum);
    case SUM_OF_ABSOLUTES: return sum + abs_f32(x);
    default: return sum + x;
  }
}

/* Of four sums one: those of squares and absolutes are sums by now. */
INLINE float fold(f32x4 sums, const Reduction kind) {
  const Reduction plain = kind == SUM_OF_SQUARES || kind == SUM_OF_ABSOLUTES ? SUM : kind;
  const f32x4 two = join(sums, (f32x4){sums[2], sums[3], sums[0], sums[1]}, plain);
  return join(two, (f32x4){two[1], two[0], two[3], two[2]}, plain)[0];
}

INLINE void reduce(const float *x, float *y, const int32_t *p, const Reduction kind) {
  const Index n = p[2], inner = p[3];
  const float scale = kind == MEAN ? 1.0f / (float)n : 1;
  for (Index outer = 0; outer < p[1]; outer++, x += n * inner, y += inner) {
    if (inner == 1) {
      f32x4 sums[2] = {splat_f32(neutral(kind)), splat_f32(neutral(kind))};
      Index i = 0;
      KEEP_ROLLED for (; i + 8 <= n; i += 8) UNROLL
        for (int u = 0; u < 2; u++) sums[u] = join(sums[u], load_f32(x + i + 4 * u), kind);
      f32x4 rest = splat_f32(neutral(kind));
      for (; i < n; i++) rest = join(rest, (f32x4){x[i], neutral(kind), neutral(kind), neutral(kind)}, kind);
      const Reduction plain = kind == SUM_OF_SQUARES || kind == SUM_OF_ABSOLUTES ? SUM : kind;
      y[0] = fold(join(join(sums[0], sums[1], plain), rest, plain), kind) * scale;
      continue;
    }
    for (Index j = 0; j < inner; j += 4) {
      const Index width = inner - j < 4 ? inner - j : 4;
      f32x4 sum = splat_f32(neutral(kind));
      for (Index i = 0; i < n; i++) {
        f32x4 value = splat_f32(0);
        if (width == 4) value = load_f32(x + i * inner + j);
        else memcpy(&value, x + i * inner + j, width * 4);
        sum = join(sum, value, kind);
      }
      sum *= splat_f32(scale);
      memcpy(y + j, &sum, width * 4);
    }
  }
}

static void reduce_run(void *const *x, const int32_t *p, int count) {
  (void)count;
#define CASE(kind) \
  case kind: reduce(x[0], x[1], p, kind); break
  switch (p[0]) {
    CASE(SUM);
    CASE(MEAN);
    CASE(LARGEST);
    CASE(SMALLEST);
    CASE(PRODUCT);
    CASE(SUM_OF_SQUARES);
    CASE(SUM_OF_ABSOLUTES);
  }
#undef CASE
}

const Operator op_reduce_f32 = {"reduce_f32", "rw", 4, false, reduce_needs, reduce_run};
