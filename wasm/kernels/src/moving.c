/* Moving elements without looking at them: copies with steps, which is what Transpose, Slice, Expand and Concat are. */
#include "kernels.h"

#include <string.h>

/* ---- move: for each index in sizes: y[y_start + sum of index * y_step] = x[x_start + sum of index * x_step]
 * params: bytes of an element (1, 2, 4, 8), rank, x_start, y_start, then per dimension: size, step of x, step of y;
 * starts and steps are elements, at least 0
 * --------------------------------------------------------------------------------------- */

enum { HEAD = 4 };

static bool move_needs(const int32_t *p, int count, int64_t *bytes) {
  const int size = p[0], rank = p[1];
  int64_t x = 1 + (int64_t)p[2], y = 1 + (int64_t)p[3];
  if ((size != 1 && size != 2 && size != 4 && size != 8) || rank < 1 || rank > MAX_RANK || count != HEAD + 3 * rank)
    return false;
  if (p[2] < 0 || p[3] < 0) return false;
  for (int d = 0; d < rank; d++) {
    const int32_t *dim = p + HEAD + 3 * d;
    if (dim[0] < 0 || dim[1] < 0 || dim[2] < 0) return false;
    if (dim[0] == 0) {
      bytes[0] = bytes[1] = 0;
      return true;
    }
    x += (int64_t)(dim[0] - 1) * dim[1];
    y += (int64_t)(dim[0] - 1) * dim[2];
    if (x > INT32_MAX || y > INT32_MAX) return false;
  }
  bytes[0] = x * size, bytes[1] = y * size;
  return true;
}

typedef uint16_t loose16 __attribute__((aligned(1)));
typedef uint32_t loose32 __attribute__((aligned(1)));
typedef uint64_t loose64 __attribute__((aligned(1)));

#define LINE(type) \
  do { \
    const type *from = (const type *)x; \
    type *to = (type *)y; \
    if (last[1] == 1 && last[2] == 1) memmove(to, from, n * sizeof(type)); \
    else \
      for (Index i = 0; i < n; i++) to[i * last[2]] = from[i * last[1]]; \
  } while (0)

static void move_run(void *const *operands, const int32_t *p, int count) {
  const int size = p[0], rank = p[1];
  const char *x = (const char *)operands[0] + (Index)p[2] * size;
  char *y = (char *)operands[1] + (Index)p[3] * size;
  const int32_t *last = p + HEAD + 3 * (rank - 1);
  const Index n = last[0];
  Index at[MAX_RANK] = {0};
  (void)count;
  for (int d = 0; d < rank; d++)
    if (p[HEAD + 3 * d] == 0) return;
  for (;;) {
    switch (size) {
      case 1: LINE(uint8_t); break;
      case 2: LINE(loose16); break;
      case 4: LINE(loose32); break;
      default: LINE(loose64);
    }
    int d = rank - 2;
    for (; d >= 0; d--) {
      const int32_t *dim = p + HEAD + 3 * d;
      x += (Index)dim[1] * size, y += (Index)dim[2] * size;
      if (++at[d] < dim[0]) break;
      x -= (Index)dim[0] * dim[1] * size, y -= (Index)dim[0] * dim[2] * size;
      at[d] = 0;
    }
    if (d < 0) return;
  }
}

const Operator op_move = {"move", "rw", HEAD, true, move_needs, move_run};
