// rope: half-split rotary positions. Angles are f64: one rotation each for low and high part of a position, multiplied as complex numbers,
// when that needs fewer sines than the rows do; the sines and cosines are rounded to f32 once.
#include <bit>
#include <cmath>

#include "backends/cpu/entries.hpp"
#include "backends/cpu/lanes.hpp"
#include "backends/cpu/queue.hpp"
#include "runtime/faults.hpp"

namespace hexapla::backends::cpu {

namespace {

// Scratch: frequencies (half), then the sines and cosines of the low and of the high parts, (parts, half) each, all f64.
struct Plan {
  Index half;  // pairs
  Index low_parts;  // positions = high · low_parts + low; 0: sines straight from the position
  Index high_parts;

  explicit Plan(const RopeArgs& args) : half(args.width / 2), low_parts(0), high_parts(0) {
    std::int32_t largest = 0;
    for (Index row = 0; row < args.rows; ++row) largest = std::max(largest, args.positions[row]);
    const Index bits = std::bit_width(static_cast<std::uint32_t>(largest));
    const Index low = Index{1} << ((bits + 1) / 2);
    const Index high = largest / low + 1;
    if (low + high >= args.rows) return;
    low_parts = low;
    high_parts = high;
  }
  Index doubles() const { return half + 2 * half * (low_parts + high_parts); }
};

void fill_part(double* table, const double* frequencies, Index half, double position) {
  for (Index i = 0; i < half; ++i) {
    table[i] = std::cos(position * frequencies[i]);
    table[half + i] = std::sin(position * frequencies[i]);
  }
}

constexpr Index pairs_at_once = 256;  // sines and cosines of one row that lie on the stack

// cos and sin of `pairs` pairs from those of the position's low and high part; each part holds its sines `half` behind its cosines.
HXP_CLONES void compose(const double* low, const double* high, Index half, Index pairs, float* cosines, float* sines) {
  for (Index i = 0; i < pairs; ++i) {
    cosines[i] = static_cast<float>(low[i] * high[i] - low[half + i] * high[half + i]);
    sines[i] = static_cast<float>(low[i] * high[half + i] + low[half + i] * high[i]);
  }
}

HXP_CLONES void rotate(const float* left, const float* right, float* left_out, float* right_out, Index pairs, const float* cosines,
                       const float* sines, bool accumulate) {
  if (accumulate)
    for (Index i = 0; i < pairs; ++i) {
      const float turned_left = left[i] * cosines[i] - right[i] * sines[i];
      const float turned_right = right[i] * cosines[i] + left[i] * sines[i];
      left_out[i] += turned_left;
      right_out[i] += turned_right;
    }
  else
    for (Index i = 0; i < pairs; ++i) {
      const float turned_left = left[i] * cosines[i] - right[i] * sines[i];
      const float turned_right = right[i] * cosines[i] + left[i] * sines[i];
      left_out[i] = turned_left;
      right_out[i] = turned_right;
    }
}

// rope_interleaved: the pairs are neighbours.
void rotate_neighbours(const float* x, const Gradient& out, Index at, Index first, Index pairs, const float* cosines, const float* sines) {
  for (Index i = 0; i < pairs; ++i) {
    const Index left = at + 2 * (first + i), right = left + 1;
    const float turned_left = x[left] * cosines[i] - x[right] * sines[i];
    const float turned_right = x[right] * cosines[i] + x[left] * sines[i];
    out.data[left] = turned_left + (out.accumulate ? out.data[left] : 0.0f);
    out.data[right] = turned_right + (out.accumulate ? out.data[right] : 0.0f);
  }
}

void rotate_row(const RopeArgs& args, const Plan& plan, const double* frequencies, const double* parts, Index row) {
  float cosines[pairs_at_once], sines[pairs_at_once];
  const Index half = plan.half;
  const std::int32_t position = args.positions[row];
  for (Index first = 0; first < half; first += pairs_at_once) {
    const Index pairs = std::min(pairs_at_once, half - first);
    if (plan.low_parts != 0) {
      const double* low = parts + position % plan.low_parts * 2 * half;
      const double* high = parts + (plan.low_parts + position / plan.low_parts) * 2 * half;
      compose(low + first, high + first, half, pairs, cosines, sines);
    } else {
      for (Index i = 0; i < pairs; ++i) {
        cosines[i] = static_cast<float>(std::cos(position * frequencies[first + i]));
        sines[i] = static_cast<float>(std::sin(position * frequencies[first + i]));
      }
    }
    if (args.inverse)
      for (Index i = 0; i < pairs; ++i) sines[i] = -sines[i];
    for (Index head = 0; head < args.heads; ++head) {
      const Index start = (row * args.heads + head) * args.width, at = start + first;
      if (faulty(Fault::rope_interleaved)) {
        rotate_neighbours(args.x, args.out, start, first, pairs, cosines, sines);
        continue;
      }
      rotate(args.x + at, args.x + at + half, args.out.data + at, args.out.data + at + half, pairs, cosines, sines,
             args.out.accumulate);
    }
  }
}

}  // namespace

std::uint64_t rope_scratch(const RopeArgs& args) {
  return static_cast<std::uint64_t>(Plan(args).doubles()) * sizeof(double);
}

void rope(Queue& queue, const RopeArgs& args) {
  const Plan plan(args);
  double* frequencies = static_cast<double*>(args.scratch);
  double* parts = frequencies + plan.half;
  for (Index i = 0; i < plan.half; ++i)
    frequencies[i] = std::pow(args.theta, -2.0 * static_cast<double>(i) / static_cast<double>(args.width));
  for_blocks(queue, plan.low_parts + plan.high_parts, 8, [&](Index first, Index last) {
    for (Index part = first; part < last; ++part) {
      const Index position = part < plan.low_parts ? part : (part - plan.low_parts) * plan.low_parts;
      fill_part(parts + part * 2 * plan.half, frequencies, plan.half, static_cast<double>(position));
    }
  });
  for_blocks(queue, args.rows, row_block(args.rows, args.heads * args.width), [&](Index first, Index last) {
    for (Index row = first; row < last; ++row) rotate_row(args, plan, frequencies, parts, row);
  });
}

}  // namespace hexapla::backends::cpu
