// SHA-256 (FIPS 180-4), fed in pieces. Here because tensor digests are the core's own word on what it holds; it knows bytes only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace hexapla {

class Sha256 {
 public:
  void update(const void* data, std::size_t bytes) noexcept;
  /// 64 lower-case hex digits. Ends the digest.
  std::string hex();

 private:
  void block(const std::uint8_t* bytes) noexcept;

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, 64> pending_{};
  std::size_t pending_bytes_ = 0;
  std::uint64_t total_bytes_ = 0;
};

}  // namespace hexapla
