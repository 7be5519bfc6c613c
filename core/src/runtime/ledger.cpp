#include "runtime/ledger.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

#include "runtime/error.hpp"

namespace hexapla {

namespace {

constexpr std::size_t file_bytes = HXP_LEDGER_HEADER_BYTES + std::size_t{HXP_LEDGER_CAPACITY} * HXP_LEDGER_RECORD_BYTES;
constexpr std::uint64_t step_records = 16384;  // disk blocks are taken in steps of 1 MiB

static_assert(sizeof(hxp_ledger_record) == HXP_LEDGER_RECORD_BYTES && sizeof(hxp_ledger_header) <= HXP_LEDGER_HEADER_BYTES);

// Files that this process has begun, by device and inode: a context that comes later goes on where the last one stopped.
struct Files {
  std::mutex mutex;
  std::map<std::pair<dev_t, ino_t>, std::weak_ptr<Ledger>> ledgers;
};

Files& files() {
  static auto* const instance = new Files;
  return *instance;
}

std::string system_text(const std::string& path) { return path + ": " + std::strerror(errno); }

template <class T>
std::atomic_ref<T> atomic(T& value) {
  return std::atomic_ref<T>(value);
}

bool has_header(const hxp_ledger_header& header) { return std::memcmp(header.magic, "HXPL", 4) == 0; }

void write_header(hxp_ledger_header& header) {
  header.version = HXP_LEDGER_VERSION;
  header.record_bytes = HXP_LEDGER_RECORD_BYTES;
  header.capacity = HXP_LEDGER_CAPACITY;
  std::memcpy(header.magic, "HXPL", 4);
}

// The descriptor, closed on every way out but the good one.
struct File {
  int number;
  ~File() {
    if (number >= 0) close(number);
  }
};

}  // namespace

std::shared_ptr<Ledger> Ledger::open(const std::string& path) {
  Files& all = files();
  const std::lock_guard lock(all.mutex);
  File file{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)};
  struct stat facts {};
  if (file.number < 0 || fstat(file.number, &facts) != 0) fail(HXP_IO, system_text(path));
  if (!S_ISREG(facts.st_mode)) fail(HXP_IO, path, ": not a regular file");
  const std::pair key{facts.st_dev, facts.st_ino};
  const auto known = all.ledgers.find(key);
  if (known != all.ledgers.end()) {
    if (auto ledger = known->second.lock(); ledger && has_header(*ledger->header_)) return ledger;
  }
  const bool begun = known != all.ledgers.end() && static_cast<std::size_t>(facts.st_size) == file_bytes;
  if (!begun && ftruncate(file.number, 0) != 0) fail(HXP_IO, system_text(path));
  if (ftruncate(file.number, file_bytes) != 0) fail(HXP_IO, system_text(path));
  // Blocks are taken before they are written: a write to a mapped hole of a full disk would be a fatal signal.
  if (const int refused = posix_fallocate(file.number, 0, HXP_LEDGER_HEADER_BYTES)) {
    errno = refused;
    fail(HXP_IO, system_text(path));
  }
  void* const map = mmap(nullptr, file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.number, 0);
  if (map == MAP_FAILED) fail(HXP_IO, system_text(path));
  std::shared_ptr<Ledger> ledger(new Ledger(std::exchange(file.number, -1), map));
  if (!has_header(*ledger->header_)) write_header(*ledger->header_);
  all.ledgers[key] = ledger;
  return ledger;
}

Ledger::Ledger(int file, void* map) noexcept
    : file_(file),
      header_(static_cast<hxp_ledger_header*>(map)),
      records_(reinterpret_cast<hxp_ledger_record*>(static_cast<std::byte*>(map) + HXP_LEDGER_HEADER_BYTES)) {}

Ledger::~Ledger() {
  munmap(header_, file_bytes);
  close(file_);
}

// Make sure that the disk has blocks for a slot. Once it refuses, the ledger stops: calls go on without it.
bool Ledger::backed(std::uint64_t slot) noexcept {
  if (slot < backed_records_.load(std::memory_order_acquire)) return true;
  const std::lock_guard lock(grow_);
  while (slot >= backed_records_.load(std::memory_order_relaxed)) {
    if (full_.load(std::memory_order_relaxed)) return false;
    const std::uint64_t first = backed_records_.load(std::memory_order_relaxed);
    const auto start = static_cast<off_t>(HXP_LEDGER_HEADER_BYTES + first * HXP_LEDGER_RECORD_BYTES);
    if (posix_fallocate(file_, start, static_cast<off_t>(step_records * HXP_LEDGER_RECORD_BYTES)) != 0) {
      full_.store(true, std::memory_order_relaxed);
      return false;
    }
    backed_records_.store(first + step_records, std::memory_order_release);
  }
  return true;
}

void Ledger::write(hxp_ledger_record record) noexcept {
  if (full_.load(std::memory_order_relaxed)) return;
  const std::uint64_t number = atomic(header_->written).fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t slot = number % HXP_LEDGER_CAPACITY;
  if (!backed(slot)) return;
  hxp_ledger_record& place = records_[slot];
  atomic(place.sequence).exchange(0, std::memory_order_acq_rel);  // a reader in between sees a torn record, not two halves
  record.sequence = 0;
  std::memcpy(&place, &record, offsetof(hxp_ledger_record, sequence));
  atomic(place.sequence).store(number + 1, std::memory_order_release);
}

void Ledger::totals(std::int64_t live, std::int64_t peak, std::int64_t handles) noexcept {
  atomic(header_->live_bytes).store(live, std::memory_order_relaxed);
  atomic(header_->peak_bytes).store(peak, std::memory_order_relaxed);
  atomic(header_->live_handles).store(handles, std::memory_order_relaxed);
}

void Ledger::limit(std::int64_t bytes) noexcept { atomic(header_->limit_bytes).store(bytes, std::memory_order_relaxed); }

}  // namespace hexapla
