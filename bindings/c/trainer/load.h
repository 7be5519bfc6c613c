/* The requests `load` and `render`: what a trainer sees of a model's weights and of records' text. */
#ifndef LOAD_H
#define LOAD_H

#include "request.h"

bool handle_load(const request *r, failure *f);
bool handle_render(const request *r, failure *f);

#endif
