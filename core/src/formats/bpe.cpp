// See bpe.hpp. Symbols are a linked list over the bytes; a heap holds the pairs that could merge, with entries that a merge has outdated
// left in it and passed over when they come up.
#include "formats/bpe.hpp"

#include <algorithm>
#include <bit>
#include <tuple>

namespace hexapla {
namespace {

std::uint64_t pair_of(std::int32_t left, std::int32_t right) noexcept {
  return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
}

constexpr auto goes_later = [](const auto& a, const auto& b) {
  return std::tie(a.rank, a.position) > std::tie(b.rank, b.position);
};

}  // namespace

Bpe::Bpe(const std::array<std::int32_t, 256>& byte_ids, std::size_t merges)
    : byte_ids_(byte_ids), slots_(std::bit_ceil(2 * merges + 2), Slot{empty, {}}) {}

std::size_t Bpe::slot_of(std::uint64_t pair) const noexcept {
  const std::size_t mask = slots_.size() - 1;
  std::uint64_t hash = pair * 0x9E3779B97F4A7C15;
  hash ^= hash >> 32;
  std::size_t index = hash & mask;
  while (slots_[index].pair != pair && slots_[index].pair != empty) index = (index + 1) & mask;
  return index;
}

bool Bpe::add_merge(std::int32_t left, std::int32_t right, Merge merge) {
  Slot& slot = slots_[slot_of(pair_of(left, right))];
  if (slot.pair != empty) return false;
  slot = {pair_of(left, right), merge};
  return true;
}

const Bpe::Merge* Bpe::find(std::int32_t left, std::int32_t right) const noexcept {
  const Slot& slot = slots_[slot_of(pair_of(left, right))];
  return slot.pair == empty ? nullptr : &slot.merge;
}

/// Put the pair that begins at a position on the heap, if it merges.
void Bpe::offer(Scratch& scratch, std::uint32_t position) const {
  if (position == none) return;
  const auto& symbol = scratch.symbols_[position];
  if (symbol.next == none) return;
  const Merge* merge = find(symbol.id, scratch.symbols_[symbol.next].id);
  if (!merge) return;
  scratch.heap_.push_back({merge->rank, position, merge->id});
  std::push_heap(scratch.heap_.begin(), scratch.heap_.end(), goes_later);
}

void Bpe::encode(std::string_view piece, std::vector<std::int32_t>& ids, Scratch& scratch) const {
  auto& symbols = scratch.symbols_;
  auto& heap = scratch.heap_;
  const auto size = static_cast<std::uint32_t>(piece.size());
  symbols.clear();
  heap.clear();
  for (std::uint32_t at = 0; at < size; ++at) {
    symbols.push_back({byte_ids_[static_cast<unsigned char>(piece[at])], at - 1, at + 1 < size ? at + 1 : none});
  }
  for (std::uint32_t at = 0; at < size; ++at) offer(scratch, at);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), goes_later);
    const auto candidate = heap.back();
    heap.pop_back();
    auto& left = symbols[candidate.position];
    if (left.id < 0 || left.next == none) continue;
    auto& right = symbols[left.next];
    const Merge* merge = find(left.id, right.id);
    if (!merge || merge->id != candidate.id) continue;  // outdated
    left.id = candidate.id;
    right.id = -1;
    left.next = right.next;
    if (left.next != none) symbols[left.next].previous = candidate.position;
    offer(scratch, left.previous);
    offer(scratch, candidate.position);
  }
  for (const auto& symbol : symbols) {
    if (symbol.id >= 0) ids.push_back(symbol.id);
  }
}

}  // namespace hexapla
