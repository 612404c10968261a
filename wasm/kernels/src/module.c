/* The Python side: a type `Program`, and OPERATORS, which says what a program may name. Limited API only. */
#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "kernels.h"

#include <stdlib.h>
#include <string.h>

#ifndef MODULE
#define MODULE simd
#endif
#define JOIN(a, b) a##b
#define INIT(name) JOIN(PyInit_, name)
#define TEXT(name) #name
#define STRING(name) TEXT(name)

typedef struct {
  PyObject_HEAD Program program;
  int32_t *code;
  char *arena;
  int constants, feeds, results; /* how many buffers of each kind, in this order after the arena */
  Py_buffer *held;               /* the constants' memory */
  void **buffers;
  int64_t *wanted; /* the least bytes that each buffer must have */
} ProgramObject;

/* ---- making ------------------------------------------------------------------------------------------------------ */

static bool written(char kind) { return kind == 'w' || kind == 'W' || kind == 'x' || kind == 'X'; }

/* Reads one step at code[at]. Returns where the next one is; -1 with an exception. */
static Py_ssize_t read_step(ProgramObject *self, Py_ssize_t at, Py_ssize_t length, Step *step, Operand *operand) {
  const int32_t *code = self->code;
  if (at + 2 > length || code[at] < 0 || code[at] >= operator_count || code[at + 1] < 0) {
    PyErr_Format(PyExc_ValueError, "program: no operator at word %zd of %zd", at, length);
    return -1;
  }
  const Operator *op = operators[code[at]];
  const int operands = (int)strlen(op->operands), params = code[at + 1];
  const Py_ssize_t end = at + 2 + 3 * (Py_ssize_t)operands + params;
  if (end > length || (op->more_params ? params < op->params : params != op->params)) {
    PyErr_Format(PyExc_ValueError, "program: %s at word %zd has %d params, expected %s%d, and words up to %zd of %zd",
                 op->name, at, params, op->more_params ? "at least " : "", op->params, end, length);
    return -1;
  }
  int64_t needs[MAX_OPERANDS] = {0};
  step->op = op;
  step->params = code + at + 2 + 3 * operands;
  step->param_count = params;
  if (!op->needs(step->params, params, needs)) {
    PyErr_Format(PyExc_ValueError, "program: %s at word %zd has params that mean nothing", op->name, at);
    return -1;
  }
  for (int i = 0; i < operands; i++) {
    const int32_t *word = code + at + 2 + 3 * i;
    const char kind = op->operands[i];
    operand[i] = (Operand){word[0], (int64_t)(uint32_t)word[1], (int64_t)(uint32_t)word[2]};
    const bool absent = word[0] == -1, may_be_absent = kind < 'a';
    const bool constant = word[0] >= 1 && word[0] <= self->constants;
    if (absent && may_be_absent) continue;
    if (word[0] < 0 || word[0] >= self->program.buffers_count || (written(kind) && constant)) {
      PyErr_Format(PyExc_ValueError, "program: %s at word %zd: operand %d cannot be buffer %d", op->name, at, i,
                   word[0]);
      return -1;
    }
    if (operand[i].bytes < needs[i]) {
      PyErr_Format(PyExc_ValueError, "program: %s at word %zd: operand %d has %lld bytes, needs %lld", op->name, at, i,
                   (long long)operand[i].bytes, (long long)needs[i]);
      return -1;
    }
    const int64_t least = operand[i].offset + operand[i].bytes;
    if (least > self->wanted[word[0]]) self->wanted[word[0]] = least;
  }
  return end;
}

static int read_code(ProgramObject *self, const Py_buffer *code) {
  const Py_ssize_t length = code->len / 4;
  Program *program = &self->program;
  self->code = malloc(code->len + 4);
  program->steps = malloc((length / 2 + 1) * sizeof(Step)); /* a step has two words at least */
  program->operands = malloc((length / 3 + MAX_OPERANDS) * sizeof(Operand));
  if (!self->code || !program->steps || !program->operands) {
    PyErr_NoMemory();
    return -1;
  }
  memcpy(self->code, code->buf, length * 4);
  for (Py_ssize_t at = 0; at < length;) {
    Step *step = &program->steps[program->steps_count];
    step->first_operand = program->operands_count;
    at = read_step(self, at, length, step, program->operands + program->operands_count);
    if (at < 0) return -1;
    program->operands_count += (int)strlen(step->op->operands);
    program->steps_count++;
  }
  return 0;
}

static int hold_constants(ProgramObject *self, PyObject *constants) {
  for (int i = 0; i < self->constants; i++) {
    PyObject *item = PySequence_GetItem(constants, i);
    if (!item) return -1;
    const int failed = PyObject_GetBuffer(item, &self->held[i], PyBUF_SIMPLE);
    Py_DECREF(item);
    if (failed) return -1;
    self->buffers[1 + i] = self->held[i].buf;
  }
  return 0;
}

/* Every buffer whose size is known now must be as large as the steps assume. */
static int check_sizes(ProgramObject *self, Py_ssize_t arena_bytes) {
  if (self->wanted[0] > arena_bytes) {
    PyErr_Format(PyExc_ValueError, "program: needs an arena of %lld bytes, got %zd", (long long)self->wanted[0],
                 arena_bytes);
    return -1;
  }
  for (int i = 0; i < self->constants; i++)
    if (self->wanted[1 + i] > self->held[i].len) {
      PyErr_Format(PyExc_ValueError, "program: constant %d has %zd bytes, needs %lld", i, self->held[i].len,
                   (long long)self->wanted[1 + i]);
      return -1;
    }
  return 0;
}

static void program_clear(ProgramObject *self) {
  for (int i = 0; self->held && i < self->constants; i++)
    if (self->held[i].obj) PyBuffer_Release(&self->held[i]);
  free(self->held), free(self->buffers), free(self->wanted), free(self->code), free(self->arena);
  free(self->program.steps), free(self->program.operands);
}

static void program_dealloc(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  program_clear((ProgramObject *)object);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

static PyObject *program_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  static char *names[] = {"code", "constants", "arena_bytes", "feeds", "results", NULL};
  Py_buffer code;
  PyObject *constants;
  Py_ssize_t arena_bytes;
  int feeds, results;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "y*Onii:Program", names, &code, &constants, &arena_bytes, &feeds,
                                   &results))
    return NULL;
  ProgramObject *self = (ProgramObject *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
  const Py_ssize_t count = PySequence_Size(constants);
  bool good = false;
  if (self && count >= 0) {
    if (arena_bytes < 0 || feeds < 0 || results < 0 || code.len % 4 || count > INT32_MAX / 4) {
      PyErr_SetString(PyExc_ValueError, "program: a size is negative, or the code is not made of 32-bit words");
    } else {
      const int buffers = 1 + (int)count + feeds + results;
      self->constants = (int)count, self->feeds = feeds, self->results = results;
      self->program.buffers_count = buffers;
      self->held = calloc(count + 1, sizeof *self->held);
      self->buffers = calloc(buffers, sizeof *self->buffers);
      self->wanted = calloc(buffers, sizeof *self->wanted);
      self->arena = aligned_alloc(ALIGNMENT, (arena_bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT);
      if (!self->held || !self->buffers || !self->wanted || !self->arena) {
        PyErr_NoMemory();
      } else {
        self->buffers[0] = self->arena;
        good = !hold_constants(self, constants) && !read_code(self, &code) && !check_sizes(self, arena_bytes);
      }
    }
  }
  PyBuffer_Release(&code);
  if (!good) Py_CLEAR(self);
  return (PyObject *)self;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

/* Takes the buffers of one run out of a tuple. Returns how many it holds now; -1 with an exception where one is too
 * small. */
static int take(ProgramObject *self, PyObject *arrays, int first, int count, int flags, const char *what,
                Py_buffer *views) {
  if (PyTuple_Size(arrays) != count) {
    if (!PyErr_Occurred())
      PyErr_Format(PyExc_ValueError, "run: got %zd %s, expected %d", PyTuple_Size(arrays), what, count);
    return -1;
  }
  for (int i = 0; i < count; i++) {
    Py_buffer *view = &views[first - 1 - self->constants + i];
    if (PyObject_GetBuffer(PyTuple_GetItem(arrays, i), view, flags)) return -1;
    self->buffers[first + i] = view->buf;
    if (view->len < self->wanted[first + i] || (uintptr_t)view->buf % 4) {
      PyErr_Format(PyExc_ValueError, "run: number %d of the %s has %zd bytes, needs %lld, aligned to 4", i, what,
                   view->len, (long long)self->wanted[first + i]);
      return -1;
    }
  }
  return 0;
}

static PyObject *run(ProgramObject *self, PyObject *args, int64_t *nanoseconds) {
  PyObject *feeds, *results;
  if (!PyArg_ParseTuple(args, "O!O!:run", &PyTuple_Type, &feeds, &PyTuple_Type, &results)) return NULL;
  const int count = self->feeds + self->results, first = 1 + self->constants;
  Py_buffer few[16] = {{0}}, *views = count <= 16 ? few : calloc(count, sizeof *views);
  if (!views) return PyErr_NoMemory();
  const bool good = !take(self, feeds, first, self->feeds, PyBUF_SIMPLE, "feeds", views) &&
                    !take(self, results, first + self->feeds, self->results, PyBUF_WRITABLE, "results", views);
  if (good) {
    Py_BEGIN_ALLOW_THREADS run_program(&self->program, self->buffers, nanoseconds);
    Py_END_ALLOW_THREADS
  }
  for (int i = 0; i < count; i++)
    if (views[i].obj) PyBuffer_Release(&views[i]);
  if (views != few) free(views);
  if (!good) return NULL;
  return Py_NewRef(Py_None);
}

static PyObject *program_run(PyObject *self, PyObject *args) { return run((ProgramObject *)self, args, NULL); }

static PyObject *program_profile(PyObject *object, PyObject *args) {
  ProgramObject *self = (ProgramObject *)object;
  const int count = self->program.steps_count;
  int64_t *nanoseconds = calloc(count + 1, sizeof *nanoseconds);
  if (!nanoseconds) return PyErr_NoMemory();
  PyObject *done = run(self, args, nanoseconds), *list = done ? PyList_New(count) : NULL;
  Py_XDECREF(done);
  for (int i = 0; list && i < count; i++)
    PyList_SetItem(list, i, Py_BuildValue("sL", self->program.steps[i].op->name, (long long)nanoseconds[i]));
  free(nanoseconds);
  return list;
}

static PyMethodDef program_methods[] = {
    {"run", program_run, METH_VARARGS,
     "run(feeds, results)\n\nRun on tuples of C-contiguous buffers; results are written. Runs of one program must not "
     "overlap.\n"
     "Raises: ValueError: a buffer is missing or too small."},
    {"profile", program_profile, METH_VARARGS,
     "profile(feeds, results) -> [(operator, nanoseconds), ...]\n\nThe same, with the time of each step."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot program_slots[] = {
    {Py_tp_new, program_new},
    {Py_tp_dealloc, program_dealloc},
    {Py_tp_methods, program_methods},
    {Py_tp_doc,
     "Program(code, constants, arena_bytes, feeds, results)\n\n"
     "A list of operators to run, checked as a whole when it is made.\n\n"
     "Args:\n"
     "    code: int32 words; a step is: operator, number of params, then for each operand buffer (-1: absent), offset "
     "and\n"
     "        size in bytes, then the params. Buffers are numbered: 0 the arena, then constants, feeds, results.\n"
     "    constants: buffers, which are kept.\n"
     "    feeds, results: how many each run gets.\n"
     "Raises: ValueError: a step could touch memory that is not its own."},
    {0, NULL},
};

static PyType_Spec program_spec = {
    "onnxlet_kernels.Program", sizeof(ProgramObject), 0, Py_TPFLAGS_DEFAULT, program_slots,
};

static int fill(PyObject *module) {
  PyObject *known = PyDict_New();
  for (int i = 0; known && i < operator_count; i++) {
    PyObject *entry = Py_BuildValue("is", i, operators[i]->operands);
    if (!entry || PyDict_SetItemString(known, operators[i]->name, entry)) Py_CLEAR(known);
    Py_XDECREF(entry);
  }
  PyObject *type = PyType_FromSpec(&program_spec);
  const int failed = !known || !type || PyModule_AddObjectRef(module, "OPERATORS", known) ||
                     PyModule_AddObjectRef(module, "Program", type);
  Py_XDECREF(known);
  Py_XDECREF(type);
  return failed ? -1 : 0;
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, fill}, {0, NULL}};
static PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "onnxlet_kernels." STRING(MODULE), NULL, 0, NULL, module_slots, NULL, NULL, NULL};

PyMODINIT_FUNC INIT(MODULE)(void) { return PyModuleDef_Init(&module); }
