// A gate: callers block on it in native code, holding no lock, until it is opened. It belongs to no context and knows none.
#pragma once

#include <condition_variable>
#include <mutex>

#include "runtime/object.hpp"

namespace hexapla {

class Gate final : public Object {
 public:
  static constexpr Kind kind = Kind::gate;
  Gate() noexcept : Object(kind) {}
  void wait();
  void open() noexcept;

 private:
  ~Gate() override = default;
  /// Nobody could open it any more.
  void last_id_gone() noexcept override { open(); }

  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

}  // namespace hexapla
