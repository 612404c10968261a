/* The operators of a program, and the program that runs them.
 *
 * An operator works on operands (memory) with params (int32 numbers, known when the program is made). `needs` says how
 * many bytes each operand must have for the params, so that a program which was accepted cannot read or write outside
 * its buffers, whoever wrote it. Sizes are elements unless said otherwise; arrays are contiguous, in C order.
 */
#ifndef ONNXLET_KERNELS_H
#define ONNXLET_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef ptrdiff_t Index; /* what loops count with: 32 bits in WebAssembly */

enum { MAX_OPERANDS = 8, MAX_RANK = 8, ALIGNMENT = 64 };

typedef struct {
  const char *name;
  /* One letter an operand: r read, w written, x both; a capital letter where it may be absent (NULL). */
  const char *operands;
  /* How many params, or the least number where `more_params`. */
  int params;
  bool more_params;
  /* Fills bytes[i] for each operand. Returns false where the params mean nothing. `count` params are there. */
  bool (*needs)(const int32_t *params, int count, int64_t *bytes);
  void (*run)(void *const *operands, const int32_t *params, int count);
} Operator;

extern const Operator *const operators[];
extern const int operator_count;

/* A reference to memory: bytes of a buffer. Buffer 0 is the arena; an absent operand has buffer -1. */
typedef struct {
  int32_t buffer;
  int64_t offset, bytes;
} Operand;

typedef struct {
  const Operator *op;
  int first_operand;
  const int32_t *params;
  int param_count;
} Step;

typedef struct {
  int steps_count, operands_count, buffers_count;
  Step *steps;
  Operand *operands;
} Program;

/* Runs every step. `buffers` are those that the operands refer to; nanoseconds (one a step) may be NULL. */
void run_program(const Program *program, void *const *buffers, int64_t *nanoseconds);

/* A float that travels as a param. */
static inline float as_float(int32_t bits) {
  union {
    int32_t bits;
    float value;
  } u = {bits};
  return u.value;
}

#endif
