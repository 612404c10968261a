/* Matrix products in float32, by tiles of 4 rows and 8 columns that stay in registers. */
#include "kernels.h"
#include "simd.h"

enum { COLUMNS = 8, ROWS = 4, STEP = 4 };

INLINE int64_t panels(int64_t n) { return (n + COLUMNS - 1) / COLUMNS; }

/* ---- pack_b_f32: B [batch, k, n] (or [batch, n, k]) to panels [batch][ceil(n / 8)][k][8], zeros on the right.
 * params: k, n, transposed, batch -------------------------------------------------------------------------------------
 */

static bool pack_needs(const int32_t *p, int count, int64_t *bytes) {
  const int64_t k = p[0], n = p[1];
  (void)count;
  if (k < 0 || n < 0 || (p[2] & ~1) || p[3] < 0) return false;
  bytes[0] = p[3] * k * n * 4;
  bytes[1] = p[3] * panels(n) * k * COLUMNS * 4;
  return true;
}

static void pack_run(void *const *x, const int32_t *p, int count) {
  const Index k = p[0], n = p[1];
  const bool transposed = p[2];
  const float *b = x[0];
  float *packed = x[1];
  (void)count;
  for (Index batch = 0; batch < p[3]; batch++, b += k * n)
    for (Index j = 0; j < n; j += COLUMNS) {
      const Index width = n - j < COLUMNS ? n - j : COLUMNS;
      for (Index i = 0; i < k; i++, packed += COLUMNS)
        for (Index c = 0; c < COLUMNS; c++)
          packed[c] = c < width ? (transposed ? b[(j + c) * k + i] : b[i * n + j + c]) : 0.0f;
    }
}

const Operator op_pack_b_f32 = {"pack_b_f32", "rw", 4, false, pack_needs, pack_run};

/* ---- gemm_f32: C [m, n] = min(max(A [m, k] B + bias [n], low), high), B packed
 * -------------------------------------------- */

/* One tile: `rows` rows of A against one panel. */
INLINE void tile(const int rows, Index k, const float *a, Index lda, const float *b, f32x4 sums[ROWS][2]) {
  const int halves = 2;
  Index i = 0;
  UNROLL for (int r = 0; r < rows; r++) UNROLL
    for (int h = 0; h < halves; h++) sums[r][h] = splat_f32(0);
  KEEP_ROLLED for (; i + STEP <= k; i += STEP, b += STEP * COLUMNS) {
    UNROLL for (int u = 0; u < STEP; u++) {
      f32x4 columns[2];
      UNROLL for (int h = 0; h < halves; h++)
        columns[h] = load_f32(b + u * COLUMNS + h * 4);
      UNROLL for (int r = 0; r < rows; r++) {
        const f32x4 value = splat_f32(a[r * lda + i + u]);
        UNROLL for (int h = 0; h < halves; h++) {
          sums[r][h] = madd(value, columns[h], sums[r][h]);
          PIN(sums[r][h]);
        }
      }
    }
  }
  KEEP_ROLLED for (; i < k; i++, b += COLUMNS) UNROLL
    for (int r = 0; r < rows; r++) UNROLL
      for (int h = 0; h < halves; h++) sums[r][h] = madd(splat_f32(a[r * lda + i]), load_f32(b + h * 4), sums[r][h]);
}

/* What happens to a sum before it is written: bias (NULL for none), then the limits, which are how Relu and Clip come
 * in. */
typedef struct {
  const float *bias;
  float low, high;
} Epilogue;

INLINE f32x4 end_sum(f32x4 sum, f32x4 bias, const Epilogue *end) {
  return min_f32(max_f32(sum + bias, splat_f32(end->low)), splat_f32(end->high));
}

/* Writes `width` columns of a tile that begins at column j. */
INLINE void finish(const int rows, f32x4 sums[ROWS][2], const Epilogue *end, Index j, float *c, Index ldc,
                   Index width) {
  UNROLL for (int h = 0; h < 2; h++) {
    f32x4 bias = splat_f32(0);
    const Index left = width - 4 * h < 4 ? width - 4 * h : 4;
    if (left <= 0) break;
    if (end->bias) memcpy(&bias, end->bias + j + 4 * h, left * 4);
    UNROLL for (int r = 0; r < rows; r++) {
      const f32x4 value = end_sum(sums[r][h], bias, end);
      if (left == 4) store_f32(c + r * ldc + 4 * h, value);
      else memcpy(c + r * ldc + 4 * h, &value, left * 4);
    }
  }
}

#define BLOCK(rows) \
  do { \
    f32x4 sums[ROWS][2]; \
    tile(rows, k, a + i * k, k, panel, sums); \
    finish(rows, sums, &end, j, c + i * n + j, n, width); \
  } while (0)

/* One row: four panels at once, because one has too few sums to hide the latency of an addition. */
static void row(Index n, Index k, const float *a, const float *b, const Epilogue *end, float *c) {
  const Index size = k * COLUMNS;
  Index j = 0;
  for (; j + 4 * COLUMNS <= n; j += 4 * COLUMNS, b += 4 * size) {
    f32x4 sums[4][2];
    UNROLL for (int q = 0; q < 4; q++)
      sums[q][0] = sums[q][1] = splat_f32(0);
    KEEP_ROLLED for (Index i = 0; i < k; i++) {
      const f32x4 value = splat_f32(a[i]);
      UNROLL for (int q = 0; q < 4; q++) UNROLL
        for (int h = 0; h < 2; h++) {
          sums[q][h] = madd(value, load_f32(b + q * size + i * COLUMNS + h * 4), sums[q][h]);
          PIN(sums[q][h]);
        }
    }
    UNROLL for (int q = 0; q < 4; q++) UNROLL
      for (int h = 0; h < 2; h++) {
        const Index at = j + q * COLUMNS + h * 4;
        store_f32(c + at, end_sum(sums[q][h], end->bias ? load_f32(end->bias + at) : splat_f32(0), end));
      }
  }
  for (; j < n; j += COLUMNS, b += size) {
    const Index width = n - j < COLUMNS ? n - j : COLUMNS;
    f32x4 sums[ROWS][2];
    tile(1, k, a, k, b, sums);
    finish(1, sums, end, j, c + j, n, width);
  }
}

/* params: m, n, k, batch, a_step, b_step, low, high. The steps are 1 where the operand has a matrix a batch, 0 where
 * one serves all; low and high are floats. */
static bool gemm_needs(const int32_t *p, int count, int64_t *bytes) {
  const int64_t m = p[0], n = p[1], k = p[2], batch = p[3];
  (void)count;
  if (m < 0 || n < 0 || k < 0 || batch < 1 || (p[4] & ~1) || (p[5] & ~1)) return false;
  bytes[0] = (p[4] ? batch : 1) * m * k * 4;
  bytes[1] = (p[5] ? batch : 1) * panels(n) * k * COLUMNS * 4;
  bytes[2] = n * 4;
  bytes[3] = batch * m * n * 4;
  return true;
}

static void gemm_run(void *const *x, const int32_t *p, int count) {
  const Index m = p[0], n = p[1], k = p[2];
  const Epilogue end = {x[2], as_float(p[6]), as_float(p[7])};
  (void)count;
  for (Index batch = 0; batch < p[3]; batch++) {
    const float *a = (const float *)x[0] + (p[4] ? batch * m * k : 0);
    const float *b = (const float *)x[1] + (p[5] ? batch * panels(n) * k * COLUMNS : 0);
    float *c = (float *)x[3] + batch * m * n;
    if (m == 1) {
      row(n, k, a, b, &end, c);
      continue;
    }
    for (Index j = 0; j < n; j += COLUMNS) {
      const float *panel = b + j * k;
      const Index width = n - j < COLUMNS ? n - j : COLUMNS;
      Index i = 0;
      for (; i + ROWS <= m; i += ROWS) BLOCK(ROWS);
      switch (m - i) {
        case 3: BLOCK(3); break;
        case 2: BLOCK(2); break;
        case 1: BLOCK(1); break;
      }
    }
  }
}

const Operator op_gemm_f32 = {"gemm_f32", "rrRw", 8, false, gemm_needs, gemm_run};
