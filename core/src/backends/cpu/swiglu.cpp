// swiglu: silu(gate) · up. Backward recomputes the sigmoid.
#include "backends/cpu/entries.hpp"
#include "backends/cpu/lanes.hpp"
#include "backends/cpu/queue.hpp"

namespace hexapla::backends::cpu {

namespace {

HXP_INLINE Lanes sigmoid(const Lanes& gate) { return 1.0f / (1.0f + exponential(-gate)); }

HXP_INLINE Lanes forward(const Lanes& gate, const Lanes& up) { return gate * sigmoid(gate) * up; }

HXP_CLONES void forward_range(const float* gate, const float* up, float* out, Index count) {
  Index i = 0;
  for (; i + lane_count <= count; i += lane_count) store(out + i, forward(load(gate + i), load(up + i)));
  if (const Index rest = count - i; rest > 0)
    store_part(out + i, forward(load_part(gate + i, rest, 0), load_part(up + i, rest, 0)), rest);
}

HXP_INLINE void put(float* to, const Lanes& value, Index count, bool accumulate) {
  if (count == lane_count)
    store(to, accumulate ? load(to) + value : value);
  else
    store_part(to, accumulate ? load_part(to, count, 0) + value : value, count);
}

// d silu = s + g · s · (1 − s).
HXP_CLONES void backward_range(const SwigluBackwardArgs& args, Index first, Index last) {
  for (Index i = first; i < last; i += lane_count) {
    const Index count = std::min(lane_count, last - i);
    const bool whole = count == lane_count;
    const Lanes gate = whole ? load(args.gate + i) : load_part(args.gate + i, count, 0);
    const Lanes up = whole ? load(args.up + i) : load_part(args.up + i, count, 0);
    const Lanes incoming = whole ? load(args.incoming + i) : load_part(args.incoming + i, count, 0);
    const Lanes s = sigmoid(gate);
    if (args.gate_gradient)
      put(args.gate_gradient.data + i, incoming * up * (s + gate * s * (1.0f - s)), count, args.gate_gradient.accumulate);
    if (args.up_gradient) put(args.up_gradient.data + i, incoming * (gate * s), count, args.up_gradient.accumulate);
  }
}

}  // namespace

void swiglu(Queue& queue, const SwigluArgs& args) {
  for_blocks(queue, args.count, element_block(args.count), [&](Index first, Index last) {
    forward_range(args.gate + first, args.up + first, args.out + first, last - first);
  });
}

void swiglu_backward(Queue& queue, const SwigluBackwardArgs& args) {
  for_blocks(queue, args.count, element_block(args.count),
             [&](Index first, Index last) { backward_range(args, first, last); });
}

}  // namespace hexapla::backends::cpu
