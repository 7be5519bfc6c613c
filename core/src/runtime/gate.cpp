#include "runtime/gate.hpp"

namespace hexapla {

void Gate::wait() {
  std::unique_lock lock(mutex_);
  opened_.wait(lock, [this] { return open_; });
}

void Gate::open() noexcept {
  const std::lock_guard lock(mutex_);
  open_ = true;
  opened_.notify_all();
}

}  // namespace hexapla
