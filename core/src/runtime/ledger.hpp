// The ledger's writer: a mapped file, a header and a ring of records (hexapla/ledger.h). Separate from the context, since contexts of one
// process with one path share a file. It takes no lock to write a record, and never fails a call: a file that cannot grow stops growing.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "hexapla/ledger.h"

namespace hexapla {

class Ledger {
 public:
  /// Map a file; the process's first opening of it empties it. Throws HXP_IO.
  static std::shared_ptr<Ledger> open(const std::string& path);
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  /// Append a record; its sequence is set here, last.
  void write(hxp_ledger_record record) noexcept;
  /// Set the header's totals.
  void totals(std::int64_t live, std::int64_t peak, std::int64_t handles) noexcept;
  void limit(std::int64_t bytes) noexcept;

 private:
  Ledger(int file, void* map) noexcept;
  bool backed(std::uint64_t slot) noexcept;

  int file_;
  hxp_ledger_header* header_;
  hxp_ledger_record* records_;
  std::atomic<std::uint64_t> backed_records_{0};
  std::atomic<bool> full_{false};
  std::mutex grow_;
};

}  // namespace hexapla
