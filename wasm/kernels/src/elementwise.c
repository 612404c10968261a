/* One value at a time: activations, and arithmetic with broadcasting. */
#include "activations.h"
#include "kernels.h"
#include "simd.h"

/* ---- unary_f32: y [n] = f(x [n]); x may be y. params: n, Activation -----------------------------------------------
 */

static bool unary_needs(const int32_t *p, int count, int64_t *bytes) {
  (void)count;
  if (p[0] < 0 || p[1] < 0 || p[1] >= ACTIVATIONS) return false;
  bytes[0] = bytes[1] = (int64_t)p[0] * 4;
  return true;
}

/* `f` is inlined with a constant, so each has a loop of its own. */
INLINE void map(const float *x, float *y, Index n, const Activation f) {
  Index i = 0;
  KEEP_ROLLED for (; i + 4 <= n; i += 4)
    store_f32(y + i, activate(load_f32(x + i), f));
  if (i < n) {
    f32x4 rest = splat_f32(0);
    memcpy(&rest, x + i, (n - i) * 4);
    rest = activate(rest, f);
    memcpy(y + i, &rest, (n - i) * 4);
  }
}

static void unary_run(void *const *x, const int32_t *p, int count) {
  (void)count;
#define CASE(f) \
  case f: map(x[0], x[1], p[0], f); break
  switch (p[1]) {
    CASE(RELU);
    CASE(SIGMOID);
    CASE(TANH);
    CASE(GELU_ERF);
    CASE(GELU_TANH);
    CASE(SILU);
    CASE(HARD_SWISH);
    CASE(HARD_SIGMOID);
    CASE(EXP);
    CASE(ERF);
    CASE(SQRT);
    CASE(ABS);
    CASE(NEGATE);
    CASE(RECIPROCAL);
  }
#undef CASE
}

const Operator op_unary_f32 = {"unary_f32", "rw", 2, false, unary_needs, unary_run};

/* ---- binary_f32: c = a op b, broadcast. params: op, rank, then per dimension: size, step of a, step of b ------------
 * Steps are in elements; 0 repeats. The last dimension's are 0 or 1. The caller merges dimensions where it can. */

typedef enum { ADD, SUBTRACT, MULTIPLY, DIVIDE, MAXIMUM, MINIMUM, BINARIES } Binary;

static bool binary_needs(const int32_t *p, int count, int64_t *bytes) {
  int64_t a = 1, b = 1, c = 1;
  const int rank = p[1];
  if (p[0] < 0 || p[0] >= BINARIES || rank < 1 || rank > MAX_RANK || count != 2 + 3 * rank) return false;
  for (int d = 0; d < rank; d++) {
    const int32_t *dim = p + 2 + 3 * d;
    if (dim[0] < 0 || dim[1] < 0 || dim[2] < 0 || (d == rank - 1 && (dim[1] > 1 || dim[2] > 1))) return false;
    if (dim[0] == 0) {
      bytes[0] = bytes[1] = bytes[2] = 0;
      return true;
    }
    a += (int64_t)(dim[0] - 1) * dim[1];
    b += (int64_t)(dim[0] - 1) * dim[2];
    c *= dim[0];
    if (c > INT32_MAX) return false;
  }
  bytes[0] = a * 4, bytes[1] = b * 4, bytes[2] = c * 4;
  return true;
}

INLINE f32x4 combine(f32x4 a, f32x4 b, const Binary op) {
  switch (op) {
    case ADD: return a + b;
    case SUBTRACT: return a - b;
    case MULTIPLY: return a * b;
    case DIVIDE: return a / b;
    case MAXIMUM: return max_f32(a, b);
    default: return min_f32(a, b);
  }
}

INLINE f32x4 some(const float *x, Index i, Index left, const int step) {
  f32x4 v = splat_f32(0);
  if (!step) return splat_f32(*x);
  if (left >= 4) return load_f32(x + i);
  memcpy(&v, x + i, left * 4);
  return v;
}

INLINE void line(const float *a, const float *b, float *c, Index n, const int a_step, const int b_step,
                 const Binary op) {
  Index i = 0;
  KEEP_ROLLED for (; i + 4 <= n; i += 4)
    store_f32(c + i, combine(some(a, i, 4, a_step), some(b, i, 4, b_step), op));
  if (i < n) {
    const f32x4 rest = combine(some(a, i, n - i, a_step), some(b, i, n - i, b_step), op);
    memcpy(c + i, &rest, (n - i) * 4);
  }
}

INLINE void lines(const float *a, const float *b, float *c, const int32_t *p, const Binary op) {
  const int rank = p[1];
  const int32_t *last = p + 2 + 3 * (rank - 1);
  const Index n = last[0];
  Index at[MAX_RANK] = {0};
  for (int d = 0; d < rank; d++)
    if (p[2 + 3 * d] == 0) return;
  for (;;) {
    if (last[1] && last[2]) line(a, b, c, n, 1, 1, op);
    else if (last[1]) line(a, b, c, n, 1, 0, op);
    else if (last[2]) line(a, b, c, n, 0, 1, op);
    else line(a, b, c, n, 0, 0, op);
    c += n;
    int d = rank - 2;
    for (; d >= 0; d--) {
      const int32_t *dim = p + 2 + 3 * d;
      a += dim[1], b += dim[2];
      if (++at[d] < dim[0]) break;
      a -= (Index)dim[0] * dim[1], b -= (Index)dim[0] * dim[2];
      at[d] = 0;
    }
    if (d < 0) return;
  }
}

static void binary_run(void *const *x, const int32_t *p, int count) {
  (void)count;
#define CASE(op) \
  case op: lines(x[0], x[1], x[2], p, op); break
  switch (p[0]) {
    CASE(ADD);
    CASE(SUBTRACT);
    CASE(MULTIPLY);
    CASE(DIVIDE);
    CASE(MAXIMUM);
    CASE(MINIMUM);
  }
#undef CASE
}

const Operator op_binary_f32 = {"binary_f32", "rrw", 2, true, binary_needs, binary_run};
