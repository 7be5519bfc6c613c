/* The operands of an `operators` case: tensors of a file, or strided views of them, watched on a tape; and the results that go out. */
#ifndef OPERANDS_H
#define OPERANDS_H

#include "model.h"

enum { INPUTS_MAX = 64 };

typedef struct operand {
  const char *name;
  hxp_tensor buffer;   /* as in the file */
  hxp_tensor tensor;   /* what the op gets: the buffer, or a view of it */
  hxp_tensor gradient; /* of the buffer's shape; 0 when not asked for */
} operand;

typedef struct results {
  const char **names;
  hxp_tensor *tensors;
  int64_t count, capacity;
} results;

/** One case being run: `s` owns what the case makes, its results apart, which `kept` owns. */
typedef struct operation {
  const json *body, *attributes;
  const char *name;
  hxp_checkpoint file;
  hxp_context context;
  hxp_tape tape;
  operand inputs[INPUTS_MAX];
  int64_t count;
  scope *s, *kept;
  arena *memory;
  results *out;
} operation;

/** Read the inputs that the case lists and watch those of its `gradients`. */
bool operands_read(operation *o, failure *f);

/** Read `<case>.incoming`, with its strides if any. */
bool operands_incoming(operation *o, hxp_tensor *out, failure *f);

/** Read `<case>.<name>` as it is in the file; the case's scope owns it. */
bool operands_tensor(operation *o, const char *name, hxp_tensor *out, failure *f);

/** Put a tensor among the results under `<case>.<name>`, as a share of its own. */
bool operands_result(operation *o, const char *name, hxp_tensor tensor, failure *f);

/** A list of integers in the attributes as i32. */
bool operands_integers(operation *o, const char *key, int32_t **out, uint64_t *count, failure *f);
bool operands_number(operation *o, const char *key, double *out, failure *f);
bool operands_integer(operation *o, const char *key, int64_t *out, failure *f);

#endif
