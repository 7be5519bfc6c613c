/* The forward pass: exactly the calls of docs/spec.md, "Forward", in that order. */
#ifndef FORWARD_H
#define FORWARD_H

#include "adapter.h"
#include "batch.h"

/** From a packed micro-batch to the negative log-likelihood of each label.
 *
 *  a      NULL: the base model alone.
 *  tape   0: nothing recorded.
 *  s      owns every temporary, `nll` (labels) included.
 */
bool forward(const model *m, const adapter *a, const batch *b, hxp_tape tape, scope *s, hxp_tensor *nll, failure *f);

/** Read the label losses and add them up, record by record, in f64: record_nll (records). */
bool record_losses(const batch *b, hxp_tensor nll, arena *memory, double *record_nll, failure *f);

#endif
