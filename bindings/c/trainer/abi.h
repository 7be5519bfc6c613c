/* The request `abi`. */
#ifndef ABI_H
#define ABI_H

#include "request.h"

bool handle_abi(const request *r, failure *f);

#endif
