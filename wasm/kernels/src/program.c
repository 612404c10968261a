/* Runs a program: one step after the other, nothing between them. */
#include "kernels.h"

#include <stddef.h>
#include <time.h>

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void run_program(const Program *program, void *const *buffers, int64_t *nanoseconds) {
  void *memory[MAX_OPERANDS];
  for (int s = 0; s < program->steps_count; s++) {
    const Step *step = &program->steps[s];
    const Operand *operand = &program->operands[step->first_operand];
    for (int i = 0; step->op->operands[i]; i++)
      memory[i] = operand[i].buffer < 0 ? NULL : (char *)buffers[operand[i].buffer] + operand[i].offset;
    const int64_t begin = nanoseconds ? now_ns() : 0;
    step->op->run(memory, step->params, step->param_count);
    if (nanoseconds) nanoseconds[s] = now_ns() - begin;
  }
}
