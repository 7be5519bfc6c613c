// Byte-pair encoding of one piece of text: bytes become symbols, and the pair of lowest rank merges until none is left. Separate from
// tokenizer.json, where the tables come from, and from splitting. Immutable once filled, so any number of threads may encode.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace hexapla {

class Bpe {
 public:
  struct Merge {
    std::uint32_t rank;
    std::int32_t id;  // of the token that the pair becomes
  };

  /// Room for encode, kept between the pieces of one text.
  class Scratch {
    friend class Bpe;
    struct Symbol {
      std::int32_t id;                // -1: merged into the symbol before it
      std::uint32_t previous, next;   // positions; past the ends: `none`
    };
    struct Candidate {
      std::uint32_t rank, position;
      std::int32_t id;
    };
    std::vector<Symbol> symbols_;
    std::vector<Candidate> heap_;
  };

  /// byte_ids   the token of each byte.
  /// merges     how many add_merge calls will follow.
  Bpe(const std::array<std::int32_t, 256>& byte_ids, std::size_t merges);

  /// false if the pair has a merge already.
  bool add_merge(std::int32_t left, std::int32_t right, Merge merge);

  /// Append the ids of a piece of less than 2^32 − 1 bytes. Of equal pairs the first in the piece goes first.
  /// O(n log n) whatever the bytes.
  void encode(std::string_view piece, std::vector<std::int32_t>& ids, Scratch& scratch) const;

 private:
  struct Slot {
    std::uint64_t pair;
    Merge merge;
  };
  static constexpr std::uint64_t empty = ~std::uint64_t{0};  // no pair: ids are not negative
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  std::size_t slot_of(std::uint64_t pair) const noexcept;
  const Merge* find(std::int32_t left, std::int32_t right) const noexcept;
  void offer(Scratch& scratch, std::uint32_t position) const;

  std::array<std::int32_t, 256> byte_ids_;
  std::vector<Slot> slots_;  // open addressing, at most half full
};

}  // namespace hexapla
