/* Over the last dimension of x [rows, n]: softmax and normalizations. y may be x. */
#include "activations.h"
#include "kernels.h"
#include "simd.h"

/* The last lanes of a row that is no multiple of 4 long, `filler` in those that are not there. */
INLINE f32x4 rest_of(const float *x, Index left, float filler) {
  f32x4 v = splat_f32(filler);
  memcpy(&v, x, left * 4);
  return v;
}

INLINE float max_lanes(f32x4 a) {
  const f32x4 b = max_f32(a, (f32x4){a[2], a[3], a[0], a[1]}), c = max_f32(b, (f32x4){b[1], b[0], b[3], b[2]});
  return c[0];
}

/* ---- softmax_f32. params: rows, n, log (1 for its logarithm) -------------------------------------------------------
 */

static bool softmax_needs(const int32_t *p, int count, int64_t *bytes) {
  (void)count;
  if (p[0] < 0 || p[1] < 0 || (p[2] & ~1)) return false;
  bytes[0] = bytes[1] = (int64_t)p[0] * p[1] * 4;
  return true;
}

static void softmax_run(void *const *operands, const int32_t *p, int count) {
  const float *x = operands[0];
  float *y = operands[1];
  const Index n = p[1], whole = n & ~(Index)3;
  (void)count;
  for (Index row = 0; row < p[0]; row++, x += n, y += n) {
    f32x4 top = splat_f32(-INFINITY), sums = splat_f32(0);
    KEEP_ROLLED for (Index i = 0; i < whole; i += 4)
      top = max_f32(top, load_f32(x + i));
    if (whole < n) top = max_f32(top, rest_of(x + whole, n - whole, -INFINITY));
    const f32x4 shift = splat_f32(max_lanes(top));
    if (p[2]) {
      KEEP_ROLLED for (Index i = 0; i < whole; i += 4)
        sums += exp_f32(load_f32(x + i) - shift);
      if (whole < n) sums += exp_f32(rest_of(x + whole, n - whole, -INFINITY) - shift);
      const f32x4 less = shift + splat_f32(logf(sum_lanes(sums)));
      for (Index i = 0; i < whole; i += 4) store_f32(y + i, load_f32(x + i) - less);
      for (Index i = whole; i < n; i++) y[i] = x[i] - less[0];
      continue;
    }
    KEEP_ROLLED for (Index i = 0; i < whole; i += 4) {
      const f32x4 e = exp_f32(load_f32(x + i) - shift);
      store_f32(y + i, e);
      sums += e;
    }
    if (whole < n) {
      const f32x4 e = exp_f32(rest_of(x + whole, n - whole, -INFINITY) - shift);
      memcpy(y + whole, &e, (n - whole) * 4);
      sums += e;
    }
    const f32x4 scale = splat_f32(1 / sum_lanes(sums));
    KEEP_ROLLED for (Index i = 0; i < whole; i += 4)
      store_f32(y + i, load_f32(y + i) * scale);
    for (Index i = whole; i < n; i++) y[i] *= scale[0];
  }
}

const Operator op_softmax_f32 = {"softmax_f32", "rw", 3, false, softmax_needs, softmax_run};

/* ---- layer_norm_f32: (x - mean) / sqrt(var + epsilon) * scale [n] + bias [n]; without the mean it is RMS
 * normalization. operands: x, scale, bias (may be absent), y. params: rows, n, centred (0 for RMS), epsilon (float)
 * ------------------- */

static bool norm_needs(const int32_t *p, int count, int64_t *bytes) {
  (void)count;
  if (p[0] < 0 || p[1] < 1 || (p[2] & ~1)) return false;
  bytes[0] = bytes[3] = (int64_t)p[0] * p[1] * 4;
  bytes[1] = bytes[2] = (int64_t)p[1] * 4;
  return true;
}

static void norm_run(void *const *operands, const int32_t *p, int count) {
  const float *x = operands[0], *scale = operands[1], *bias = operands[2];
  float *y = operands[3];
  const Index n = p[1], whole = n & ~(Index)3;
  (void)count;
  for (Index row = 0; row < p[0]; row++, x += n, y += n) {
    float mean = 0;
    if (p[2]) {
      f32x4 sums = splat_f32(0);
      KEEP_ROLLED for (Index i = 0; i < whole; i += 4)
        sums += load_f32(x + i);
      if (whole < n) sums += rest_of(x + whole, n - whole, 0);
      mean = sum_lanes(sums) / n;
    }
    /* In two passes: E[x^2] - E[x]^2 loses all digits where the mean is large. */
    const f32x4 centre = splat_f32(mean);
    f32x4 squares = splat_f32(0);
    KEEP_ROLLED for (Index i = 0; i < whole; i += 4) {
      const f32x4 d = load_f32(x + i) - centre;
      squares = madd(d, d, squares);
    }
    if (whole < n) {
      const f32x4 d = rest_of(x + whole, n - whole, mean) - centre;
      squares = madd(d, d, squares);
    }
    const float inverse = 1 / sqrtf(sum_lanes(squares) / n + as_float(p[3]));
    KEEP_ROLLED for (Index i = 0; i < whole; i += 4) {
      const f32x4 value = (load_f32(x + i) - centre) * splat_f32(inverse) * load_f32(scale + i);
      store_f32(y + i, bias ? value + load_f32(bias + i) : value);
    }
    for (Index i = whole; i < n; i++) y[i] = (x[i] - mean) * inverse * scale[i] + (bias ? bias[i] : 0);
  }
}

const Operator op_layer_norm_f32 = {"layer_norm_f32", "rrRw", 4, false, norm_needs, norm_run};
