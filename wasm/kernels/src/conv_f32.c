/* Convolutions in float32, on pictures in groups of 4 channels (blocks.c), direct: no matrix of patches is built.
 *
 * Where there is padding, the picture is first copied into a frame of zeros: that costs little beside a convolution
 * over all channels, and leaves one loop without edges. Depthwise convolutions look at edges instead (depthwise_f32).
 */
#include "kernels.h"
#include "simd.h"

enum { LANES = 4, COLUMNS = 8, PIXELS = 6 };

/* params, in this order. Input and output channels are those of one group. */
enum {
  N,
  GROUPS,
  CIN,
  COUT,
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
  LOW,
  HIGH,
  PARAMS
};

INLINE Index up(Index n, Index to) { return (n + to - 1) / to * to; }

/* The frame: what the last window reaches, and at least the picture. */
static Index frame_h(const int32_t *p) {
  const Index reach = (p[OUT_H] - 1) * p[STRIDE_H] + (p[KERNEL_H] - 1) * p[DILATION_H] + 1, own = p[TOP] + p[H];
  return reach > own ? reach : own;
}

static Index frame_w(const int32_t *p) {
  const Index reach = (p[OUT_W] - 1) * p[STRIDE_W] + (p[KERNEL_W] - 1) * p[DILATION_W] + 1, own = p[LEFT] + p[W];
  return reach > own ? reach : own;
}

static bool framed(const int32_t *p) { return frame_h(p) != p[H] || frame_w(p) != p[W]; }

/* operands: x, weights [groups][ceil(cout / 8)][kernel][cin][8], bias [groups cout] or absent, frame (scratch), y. In
 * more than one group, cin and cout are multiples of 4, so that a group begins with a group of lanes. */
static bool conv_needs(const int32_t *p, int count, int64_t *bytes) {
  (void)count;
  for (int i = N; i <= LEFT; i++)
    if (p[i] < (i == TOP || i == LEFT ? 0 : 1) || p[i] > (1 << 24)) return false;
  if (p[GROUPS] > 1 && (p[CIN] % LANES || p[COUT] % LANES)) return false;
  const int64_t channels = up((Index)p[GROUPS] * p[CIN], LANES);
  bytes[0] = (int64_t)p[N] * channels * p[H] * p[W] * 4;
  bytes[1] = (int64_t)p[GROUPS] * up(p[COUT], COLUMNS) * p[KERNEL_H] * p[KERNEL_W] * p[CIN] * 4;
  bytes[2] = (int64_t)p[GROUPS] * p[COUT] * 4;
  bytes[3] = framed(p) ? channels * (int64_t)frame_h(p) * frame_w(p) * 4 : 0;
  bytes[4] = (int64_t)p[N] * up((Index)p[GROUPS] * p[COUT], LANES) * p[OUT_H] * p[OUT_W] * 4;
  for (int i = 0; i < 5; i++)
    if (bytes[i] > INT32_MAX) return false;
  return true;
}

static void fill_frame(const float *x, float *frame, const int32_t *p) {
  const Index groups = up((Index)p[GROUPS] * p[CIN], LANES) / LANES, fh = frame_h(p), fw = frame_w(p),
              line = (Index)p[W] * LANES;
  for (Index c = 0; c < groups; c++)
    for (Index y = 0; y < fh; y++, frame += fw * LANES) {
      const Index from = y - p[TOP];
      if (from < 0 || from >= p[H]) {
        memset(frame, 0, fw * LANES * 4);
        continue;
      }
      memset(frame, 0, (Index)p[LEFT] * LANES * 4);
      memcpy(frame + (Index)p[LEFT] * LANES, x + (c * p[H] + from) * line, line * 4);
      memset(frame + (Index)p[LEFT] * LANES + line, 0, (fw - p[LEFT] - p[W]) * LANES * 4);
    }
}

typedef struct {
  const float *w, *bias;
  Index cin, plane, line, tap_h, tap_w, step; /* floats between groups of lanes, lines, taps and neighbouring outputs */
  Index out_plane, columns;                   /* columns: of this panel */
  int kernel_h, kernel_w;
  float low, high;
} Panel;

/* `pixels` neighbours in a line times 8 output channels. A step that is known when this is compiled saves a register a
 * pixel. */
INLINE void tile(const int pixels, const Index step, const float *x, const Panel *t, float *y) {
  f32x4 sums[PIXELS][2];
  const float *w = t->w;
  UNROLL for (int i = 0; i < pixels; i++)
    sums[i][0] = sums[i][1] = splat_f32(0);
  for (int row = 0; row < t->kernel_h; row++)
    for (int column = 0; column < t->kernel_w; column++) {
      const float *in = x + row * t->tap_h + column * t->tap_w;
      Index c = 0;
      KEEP_ROLLED for (; c + LANES <= t->cin; c += LANES, in += t->plane, w += LANES * COLUMNS) UNROLL
        for (int lane = 0; lane < LANES; lane++) {
          const f32x4 w0 = load_f32(w + lane * COLUMNS), w1 = load_f32(w + lane * COLUMNS + 4);
          UNROLL for (int i = 0; i < pixels; i++) {
            const f32x4 value = splat_f32(in[i * step + lane]);
            sums[i][0] = madd(value, w0, sums[i][0]);
            PIN(sums[i][0]);
            sums[i][1] = madd(value, w1, sums[i][1]);
            PIN(sums[i][1]);
          }
        }
      KEEP_ROLLED for (; c < t->cin; c++, in++, w += COLUMNS) {
        const f32x4 w0 = load_f32(w), w1 = load_f32(w + 4);
        UNROLL for (int i = 0; i < pixels; i++) {
          const f32x4 value = splat_f32(in[i * step]);
          sums[i][0] = madd(value, w0, sums[i][0]);
          sums[i][1] = madd(value, w1, sums[i][1]);
        }
      }
    }
  UNROLL for (int half = 0; half < 2; half++) {
    const Index left = t->columns - 4 * half;
    f32x4 bias = splat_f32(0);
    if (left <= 0) break;
    if (t->bias) memcpy(&bias, t->bias + 4 * half, (left < 4 ? left : 4) * 4);
    UNROLL for (int i = 0; i < pixels; i++)
      store_f32(y + half * t->out_plane + i * LANES,
                min_f32(max_f32(sums[i][half] + bias, splat_f32(t->low)), splat_f32(t->high)));
  }
}

INLINE void line_by(const Index step, const float *x, Index width, const Panel *t, float *y) {
  Index i = 0;
  for (; i + PIXELS <= width; i += PIXELS) tile(PIXELS, step, x + i * step, t, y + i * LANES);
  x += i * step, y += i * LANES;
  switch (width - i) {
    case 5: tile(5, step, x, t, y); break;
    case 4: tile(4, step, x, t, y); break;
    case 3: tile(3, step, x, t, y); break;
    case 2: tile(2, step, x, t, y); break;
    case 1: tile(1, step, x, t, y); break;
  }
}

static void line_of(const float *x, Index width, const Panel *t, float *y) {
  if (t->step == LANES) line_by(LANES, x, width, t, y);
  else line_by(t->step, x, width, t, y);
}

static void conv_run(void *const *operands, const int32_t *p, int count) {
  const float *x = operands[0], *weights = operands[1], *bias = operands[2];
  float *frame = operands[3], *y = operands[4];
  const bool padded = framed(p);
  const Index height = padded ? frame_h(p) : p[H], width = padded ? frame_w(p) : p[W];
  const Index plane = height * width * LANES, out_line = (Index)p[OUT_W] * LANES, out_plane = p[OUT_H] * out_line;
  const Index in_size = up((Index)p[GROUPS] * p[CIN], LANES) * p[H] * p[W],
              out_size = up((Index)p[GROUPS] * p[COUT], LANES) * p[OUT_H] * p[OUT_W];
  const Index panel_size = (Index)p[KERNEL_H] * p[KERNEL_W] * p[CIN] * COLUMNS;
  (void)count;
  for (Index n = 0; n < p[N]; n++, x += in_size, y += out_size) {
    const float *picture = x, *w = weights;
    if (padded) {
      fill_frame(x, frame, p);
      picture = frame;
    }
    for (Index g = 0; g < p[GROUPS]; g++)
      for (Index j = 0; j < p[COUT]; j += COLUMNS, w += panel_size) {
        const Index out = g * p[COUT] + j;
        const Panel t = {.w = w,
                         .bias = bias ? bias + out : NULL,
                         .cin = p[CIN],
                         .plane = plane,
                         .line = width * LANES,
                         .tap_h = p[DILATION_H] * width * LANES,
                         .tap_w = (Index)p[DILATION_W] * LANES,
                         .step = (Index)p[STRIDE_W] * LANES,
                         .out_plane = out_plane,
                         .columns = p[COUT] - j < COLUMNS ? p[COUT] - j : COLUMNS,
                         .kernel_h = p[KERNEL_H],
                         .kernel_w = p[KERNEL_W],
                         .low = as_float(p[LOW]),
                         .high = as_float(p[HIGH])};
        const float *from = picture + g * p[CIN] / LANES * plane;
        float *to = y + out / LANES * out_plane;
        if (p[KERNEL_H] == 1 && p[KERNEL_W] == 1 && p[STRIDE_H] == 1 && p[STRIDE_W] == 1 && width == p[OUT_W])
          line_of(from, (Index)p[OUT_H] * p[OUT_W], &t, to); /* lines follow each other without a gap */
        else
          for (Index row = 0; row < p[OUT_H]; row++)
            line_of(from + row * p[STRIDE_H] * width * LANES, p[OUT_W], &t, to + row * out_line);
      }
  }
}

const Operator op_conv_f32 = {"conv_f32", "rrRXw", PARAMS, false, conv_needs, conv_run};

/* ---- depthwise_f32: one weight a channel and tap. operands: x, weights [ceil(c / 4)][kernel][4], bias [c] or absent,
 * y. The same params; groups is the number of channels, cin and cout are 1.
 * ----------------------------------------------- */

static bool depthwise_needs(const int32_t *p, int count, int64_t *bytes) {
  int64_t all[5];
  int32_t alike[PARAMS];
  memcpy(alike, p, sizeof alike);
  if (p[CIN] != 1 || p[COUT] != 1) return false;
  alike[CIN] = alike[COUT] = p[GROUPS], alike[GROUPS] = 1;
  if (!conv_needs(alike, count, all)) return false;
  bytes[0] = all[0], bytes[2] = all[2], bytes[3] = all[4];
  bytes[1] = (int64_t)up(p[GROUPS], LANES) * p[KERNEL_H] * p[KERNEL_W] * 4;
  return true;
}

/* One output anywhere, looking at every tap. */
static f32x4 careful(const float *x, const float *w, Index row, Index column, const int32_t *p, f32x4 sum) {
  for (int i = 0; i < p[KERNEL_H]; i++) {
    const Index y = row * p[STRIDE_H] - p[TOP] + i * p[DILATION_H];
    if (y < 0 || y >= p[H]) continue;
    for (int j = 0; j < p[KERNEL_W]; j++) {
      const Index at = column * p[STRIDE_W] - p[LEFT] + j * p[DILATION_W];
      if (at >= 0 && at < p[W])
        sum = madd(load_f32(x + (y * p[W] + at) * LANES), load_f32(w + (i * p[KERNEL_W] + j) * LANES), sum);
    }
  }
  return sum;
}

/* Outputs [begin, end) of a line, whose windows lie inside the picture from left to right; rows [first, last) of the
 * kernel lie inside it. Four at a time, so that a weight is loaded once for them. */
INLINE void inner_line(const float *x, const float *w, Index begin, Index end, int first, int last, const int kernel_w,
                       const Index step, const Index tap, f32x4 bias, f32x4 low, f32x4 high, const int32_t *p,
                       float *y) {
  const Index row = (Index)p[DILATION_H] * p[W] * LANES;
  Index i = begin;
  for (; i + 4 <= end; i += 4) {
    f32x4 sums[4] = {bias, bias, bias, bias};
    for (int k = first; k < last; k++) UNROLL
      for (int j = 0; j < kernel_w; j++) {
        const f32x4 weight = load_f32(w + (k * kernel_w + j) * LANES);
        const float *in = x + k * row + j * tap + i * step;
        UNROLL for (int q = 0; q < 4; q++)
          sums[q] = madd(load_f32(in + q * step), weight, sums[q]);
      }
    UNROLL for (int q = 0; q < 4; q++)
      store_f32(y + (i + q) * LANES, min_f32(max_f32(sums[q], low), high));
  }
  for (; i < end; i++) {
    f32x4 sum = bias;
    for (int k = first; k < last; k++)
      for (int j = 0; j < kernel_w; j++)
        sum = madd(load_f32(x + k * row + j * tap + i * step), load_f32(w + (k * kernel_w + j) * LANES), sum);
    store_f32(y + i * LANES, min_f32(max_f32(sum, low), high));
  }
}

static void depthwise_run(void *const *operands, const int32_t *p, int count) {
  const float *x = operands[0], *bias = operands[2];
  float *y = operands[3];
  const Index groups = up(p[GROUPS], LANES) / LANES, taps = (Index)p[KERNEL_H] * p[KERNEL_W];
  const f32x4 low = splat_f32(as_float(p[LOW])), high = splat_f32(as_float(p[HIGH]));
  /* Outputs [begin, end) of a line have all their taps inside the picture. */
  const Index reach = (Index)(p[KERNEL_W] - 1) * p[DILATION_W], room = p[W] - 1 - reach + p[LEFT];
  Index begin = (p[LEFT] + p[STRIDE_W] - 1) / p[STRIDE_W], end = room < 0 ? 0 : room / p[STRIDE_W] + 1;
  (void)count;
  if (end > p[OUT_W]) end = p[OUT_W];
  if (begin > end) begin = end = 0;
  for (Index n = 0; n < p[N]; n++)
    for (Index g = 0; g < groups; g++, x += (Index)p[H] * p[W] * LANES) {
      const float *w = (const float *)operands[1] + g * taps * LANES;
      const Index left = p[GROUPS] - g * LANES;
      f32x4 add = splat_f32(0);
      if (bias) memcpy(&add, bias + g * LANES, (left < LANES ? left : LANES) * 4);
      for (Index row = 0; row < p[OUT_H]; row++, y += (Index)p[OUT_W] * LANES) {
        const Index top = row * p[STRIDE_H] - p[TOP];
        int first = 0, last = p[KERNEL_H];
        while (first < last && top + first * p[DILATION_H] < 0) first++;
        while (last > first && top + (last - 1) * p[DILATION_H] >= p[H]) last--;
        for (Index i = 0; i < p[OUT_W]; i++) {
          if (i == begin && begin < end) {
            const float *in = x + (top * p[W] - p[LEFT]) * LANES;
            const Index step = (Index)p[STRIDE_W] * LANES, tap = (Index)p[DILATION_W] * LANES;
#define INNER(kernel, step, tap) inner_line(in, w, begin, end, first, last, kernel, step, tap, add, low, high, p, y)
            if (tap == LANES && p[KERNEL_W] == 3 && step == LANES) INNER(3, LANES, LANES);
            else if (tap == LANES && p[KERNEL_W] == 3 && step == 2 * LANES) INNER(3, 2 * LANES, LANES);
            else if (tap == LANES && p[KERNEL_W] == 5 && step == LANES) INNER(5, LANES, LANES);
            else INNER(p[KERNEL_W], step, tap);
#undef INNER
            i = end - 1;
            continue;
          }
          store_f32(y + i * LANES, min_f32(max_f32(careful(x, w, row, i, p, add), low), high));
        }
      }
    }
}

const Operator op_depthwise_f32 = {"depthwise_f32", "rrRw", PARAMS, false, depthwise_needs, depthwise_run};
