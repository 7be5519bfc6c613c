/* The request `operators`: single operations on tensors from a file, forward and backward, their results written to another. */
#ifndef OPERATORS_H
#define OPERATORS_H

#include "request.h"

bool handle_operators(const request *r, failure *f);

#endif
