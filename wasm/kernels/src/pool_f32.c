/* Pooling, on pictures in groups of 4 channels. */
#include "kernels.h"
#include "simd.h"

enum { LANES = 4 };
enum {
  N,
  CHANNELS,
  H,
  W,
  OUT_H,
  OUT_W,
  KERNEL_H,
  KERNEL_W,
  STRIDE_H,
  STRIDE_W,
  DILATION_H,
  DILATION_W,
  TOP,
  LEFT,
  KIND,
  END_H,
  END_W,
  PARAMS
};

/* Of an average: over the elements inside the picture, or those inside the picture and its padding, which END_H and
 * END_W end. */
enum { MAXIMUM, AVERAGE, AVERAGE_WITH_PADDING, KINDS };

static bool pool_needs(const int32_t *p, int count, int64_t *bytes) {
  (void)count;
  for (int i = N; i <= LEFT; i++)
    if (p[i] < (i == TOP || i == LEFT ? 0 : 1) || p[i] > (1 << 24)) return false;
  if (p[KIND] < 0 || p[KIND] >= KINDS || p[END_H] < 0 || p[END_W] < 0) return false;
  const int64_t groups = (int64_t)p[N] * ((p[CHANNELS] + 3) / LANES) * LANES * 4;
  bytes[0] = groups * p[H] * p[W];
  bytes[1] = groups * p[OUT_H] * p[OUT_W];
  return bytes[0] <= INT32_MAX && bytes[1] <= INT32_MAX;
}

/* The part of a window's taps, [first, last), that lie in [0, size). */
INLINE void inside(Index start, Index step, Index kernel, Index size, Index *first, Index *last) {
  *first = 0, *last = kernel;
  while (*first < *last && start + *first * step < 0) ++*first;
  while (*last > *first && start + (*last - 1) * step >= size) --*last;
}

static void pool_run(void *const *operands, const int32_t *p, int count) {
  const float *x = operands[0];
  float *y = operands[1];
  const Index planes = (Index)p[N] * ((p[CHANNELS] + 3) / LANES);
  (void)count;
  for (Index plane = 0; plane < planes; plane++, x += (Index)p[H] * p[W] * LANES)
    for (Index row = 0; row < p[OUT_H]; row++) {
      const Index top = row * p[STRIDE_H] - p[TOP];
      Index r0, r1, all_r0, all_r1;
      inside(top, p[DILATION_H], p[KERNEL_H], p[H], &r0, &r1);
      inside(top + p[TOP], p[DILATION_H], p[KERNEL_H], p[TOP] + p[H] + p[END_H], &all_r0, &all_r1);
      for (Index column = 0; column < p[OUT_W]; column++, y += LANES) {
        const Index left = column * p[STRIDE_W] - p[LEFT];
        Index c0, c1, all_c0, all_c1;
        inside(left, p[DILATION_W], p[KERNEL_W], p[W], &c0, &c1);
        inside(left + p[LEFT], p[DILATION_W], p[KERNEL_W], p[LEFT] + p[W] + p[END_W], &all_c0, &all_c1);
        f32x4 sum = splat_f32(p[KIND] == MAXIMUM ? -INFINITY : 0);
        for (Index r = r0; r < r1; r++) {
          const float *in = x + ((top + r * p[DILATION_H]) * p[W] + left) * LANES;
          for (Index c = c0; c < c1; c++) {
            const f32x4 value = load_f32(in + c * p[DILATION_W] * LANES);
            sum = p[KIND] == MAXIMUM ? max_f32(sum, value) : sum + value;
          }
        }
        if (p[KIND] == AVERAGE) sum /= splat_f32((float)((r1 - r0) * (c1 - c0)));
        if (p[KIND] == AVERAGE_WITH_PADDING) sum /= splat_f32((float)((all_r1 - all_r0) * (all_c1 - all_c0)));
        store_f32(y, sum);
      }
    }
}

const Operator op_pool_f32 = {"pool_f32", "rw", PARAMS, false, pool_needs, pool_run};
