/* Between NCHW and the layout that convolutions want: channels in groups of 4, [n][ceil(c / 4)][pixels][4]. The lanes
 * after the last channel hold zeros at first and anything later: nothing may read them. */
#include "kernels.h"
#include "simd.h"

enum { LANES = 4 };

/* params: n, channels, pixels */
static bool block_needs(const int32_t *p, int count, int64_t *bytes) {
  (void)count;
  if (p[0] < 0 || p[1] < 0 || p[2] < 0) return false;
  bytes[0] = (int64_t)p[0] * p[1] * p[2] * 4;
  bytes[1] = (int64_t)p[0] * ((p[1] + 3) / 4) * p[2] * LANES * 4;
  return true;
}

static bool unblock_needs(const int32_t *p, int count, int64_t *bytes) {
  int64_t other[2];
  if (!block_needs(p, count, other)) return false;
  bytes[0] = other[1], bytes[1] = other[0];
  return true;
}

INLINE void transpose(f32x4 r[4]) {
  const f32x4 a = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5), b = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5);
  const f32x4 c = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7), d = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
  r[0] = __builtin_shufflevector(a, b, 0, 1, 4, 5), r[1] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
  r[2] = __builtin_shufflevector(c, d, 0, 1, 4, 5), r[3] = __builtin_shufflevector(c, d, 2, 3, 6, 7);
}

static void block_run(void *const *x, const int32_t *p, int count) {
  const Index channels = p[1], pixels = p[2];
  (void)count;
  for (Index n = 0; n < p[0]; n++) {
    const float *from = (const float *)x[0] + n * channels * pixels;
    float *to = (float *)x[1] + n * ((channels + 3) / 4) * pixels * LANES;
    for (Index c = 0; c < channels; c += LANES, from += LANES * pixels, to += LANES * pixels) {
      const Index here = channels - c < LANES ? channels - c : LANES;
      Index i = 0;
      if (here == LANES)
        for (; i + 4 <= pixels; i += 4) {
          f32x4 r[4];
          UNROLL for (int k = 0; k < 4; k++)
            r[k] = load_f32(from + k * pixels + i);
          transpose(r);
          UNROLL for (int k = 0; k < 4; k++)
            store_f32(to + (i + k) * LANES, r[k]);
        }
      for (; i < pixels; i++)
        for (Index k = 0; k < LANES; k++) to[i * LANES + k] = k < here ? from[k * pixels + i] : 0;
    }
  }
}

static void unblock_run(void *const *x, const int32_t *p, int count) {
  const Index channels = p[1], pixels = p[2];
  (void)count;
  for (Index n = 0; n < p[0]; n++) {
    const float *from = (const float *)x[0] + n * ((channels + 3) / 4) * pixels * LANES;
    float *to = (float *)x[1] + n * channels * pixels;
    for (Index c = 0; c < channels; c += LANES, from += LANES * pixels, to += LANES * pixels) {
      const Index here = channels - c < LANES ? channels - c : LANES;
      Index i = 0;
      if (here == LANES)
        for (; i + 4 <= pixels; i += 4) {
          f32x4 r[4];
          UNROLL for (int k = 0; k < 4; k++)
            r[k] = load_f32(from + (i + k) * LANES);
          transpose(r);
          UNROLL for (int k = 0; k < 4; k++)
            store_f32(to + k * pixels + i, r[k]);
        }
      for (; i < pixels; i++)
        for (Index k = 0; k < here; k++) to[k * pixels + i] = from[i * LANES + k];
    }
  }
}

const Operator op_block_f32 = {"block_f32", "rw", 3, false, block_needs, block_run};
const Operator op_unblock_f32 = {"unblock_f32", "rw", 3, false, unblock_needs, unblock_run};
