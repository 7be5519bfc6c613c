/* The order of records: SplitMix64 and the shuffle of an epoch. */
#ifndef ORDER_H
#define ORDER_H

#include <stdint.h>

uint64_t splitmix64(uint64_t *state);

/** Fill order[0 … n−1] with the order of epoch `epoch`. */
void order_epoch(int64_t seed, int64_t epoch, int64_t n, int64_t *order);

#endif
