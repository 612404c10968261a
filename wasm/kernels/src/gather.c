/* Picking by indices that are computed, and changing types. */
#include "kernels.h"
#include "simd.h"

/* ---- gather: y [outer, count, inner] = x [outer, n, inner] at indices [count]; an index outside counts from the end,
 * and one that is outside even so gives zeros. params: bytes of `inner` elements, outer, n, count, 1 where the indices
 * are int64 (else int32) ------------------------ */

static bool gather_needs(const int32_t *p, int count, int64_t *bytes) {
  (void)count;
  for (int i = 0; i < 4; i++)
    if (p[i] < 0) return false;
  if (p[4] & ~1) return false;
  bytes[0] = (int64_t)p[1] * p[2] * p[0];
  bytes[1] = (int64_t)p[3] * (p[4] ? 8 : 4);
  bytes[2] = (int64_t)p[1] * p[3] * p[0];
  return bytes[0] <= INT32_MAX && bytes[2] <= INT32_MAX;
}

static void gather_run(void *const *operands, const int32_t *p, int unused) {
  const char *x = operands[0];
  char *y = operands[2];
  const Index size = p[0], n = p[2], count = p[3];
  (void)unused;
  for (Index outer = 0; outer < p[1]; outer++, x += n * size)
    for (Index i = 0; i < count; i++, y += size) {
      int64_t at = p[4] ? ((const int64_t *)operands[1])[i] : ((const int32_t *)operands[1])[i];
      if (at < 0) at += n;
      if (at < 0 || at >= n) memset(y, 0, size);
      else memcpy(y, x + at * size, size);
    }
}

const Operator op_gather = {"gather", "rrw", 5, false, gather_needs, gather_run};

/* ---- cast: y [n] = x [n] as another type, as numpy's astype does it. params: n, type of x, type of y
 * ----------------- */

typedef enum { F32, I32, I64, U8, I8, BOOL, TYPES } Type;

static const int sizes[TYPES] = {4, 4, 8, 1, 1, 1};

static bool cast_needs(const int32_t *p, int count, int64_t *bytes) {
  (void)count;
  if (p[0] < 0 || p[1] < 0 || p[1] >= TYPES || p[2] < 0 || p[2] >= TYPES) return false;
  bytes[0] = (int64_t)p[0] * sizes[p[1]];
  bytes[1] = (int64_t)p[0] * sizes[p[2]];
  return true;
}

/* A float that no int64 holds, or NaN, becomes the smallest, as on x86. */
static int64_t whole(float x) {
  return x >= -9223372036854775808.0f && x < 9223372036854775808.0f ? (int64_t)x : INT64_MIN;
}

static void cast_run(void *const *operands, const int32_t *p, int count) {
  const void *x = operands[0];
  void *y = operands[1];
  (void)count;
  for (Index i = 0; i < p[0]; i++) {
    float f = 0;
    int64_t n = 0;
    switch (p[1]) {
      case F32: f = ((const float *)x)[i], n = whole(f); break;
      case I32: n = ((const int32_t *)x)[i]; break;
      case I64: n = ((const int64_t *)x)[i]; break;
      case I8: n = ((const int8_t *)x)[i]; break;
      default: n = ((const uint8_t *)x)[i]; break;
    }
    if (p[1] != F32) f = (float)n;
    switch (p[2]) {
      case F32: ((float *)y)[i] = f; break;
      case I32: ((int32_t *)y)[i] = (int32_t)n; break;
      case I64: ((int64_t *)y)[i] = n; break;
      case BOOL: ((uint8_t *)y)[i] = p[1] == F32 ? f != 0 : n != 0; break;
      default: ((uint8_t *)y)[i] = (uint8_t)n; break;
    }
  }
}

const Operator op_cast = {"cast", "rw", 3, false, cast_needs, cast_run};

/* ---- fill: y [n] = one element, over and over. params: n, bytes of the element (1, 2, 4, 8)
 * -------------------------- */

static bool fill_needs(const int32_t *p, int count, int64_t *bytes) {
  (void)count;
  if (p[0] < 0 || (p[1] != 1 && p[1] != 2 && p[1] != 4 && p[1] != 8)) return false;
  bytes[0] = p[1], bytes[1] = (int64_t)p[0] * p[1];
  return true;
}

static void fill_run(void *const *operands, const int32_t *p, int count) {
  char *y = operands[1];
  (void)count;
  for (Index i = 0; i < p[0]; i++) memcpy(y + i * p[1], operands[0], p[1]);
}

const Operator op_fill = {"fill", "rw", 2, false, fill_needs, fill_run};
