// Reference-counted objects and shares of them. Separate from the registry of handles: an object knows no id, and most shares are held
// by other objects, not by callers. A share may be dropped on any thread; the last one runs the destructor there, with no lock held.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace hexapla {

class Context;

/// What a handle can stand for; the number is the id's high byte. none: shared between objects, never given out.
enum class Kind : std::uint8_t { none = 0, context = 1, tensor = 2, tape = 3, gate = 4, tokenizer = 5, checkpoint = 6 };

const char* kind_name(Kind kind) noexcept;

/// The base of everything that has a handle, and of what such objects share (storages). Each class with handles has
/// `static constexpr Kind kind`.
class Object {
 public:
  explicit Object(Kind kind) noexcept : kind_(kind) {}
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  Kind kind() const noexcept { return kind_; }

  /// The context that the object lives in, whose account its handles count to; nullptr: none (gates, tokenizers, checkpoints).
  virtual Context* home() noexcept { return nullptr; }

  /// Ids that callers hold; the registry counts them. The second hook runs outside its locks.
  void id_added() noexcept { ids_.fetch_add(1, std::memory_order_relaxed); }
  void id_removed() noexcept {
    if (ids_.fetch_sub(1, std::memory_order_acq_rel) == 1) last_id_gone();
  }

  /// Shares that stand at this moment; for faults only (core/faults), since it may be another number a moment later.
  std::uint64_t shares() const noexcept { return shares_.load(std::memory_order_acquire); }
  void add_share() noexcept { shares_.fetch_add(1, std::memory_order_relaxed); }
  void drop_share() noexcept {
    if (shares_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 protected:
  virtual ~Object() = default;
  /// No caller holds an id any more; shares may remain.
  virtual void last_id_gone() noexcept {}

 private:
  std::atomic<std::uint64_t> ids_{0};
  std::atomic<std::uint64_t> shares_{1};
  const Kind kind_;
};

/// One share of an object, or none.
template <class T>
class Share {
 public:
  Share() noexcept = default;
  Share(std::nullptr_t) noexcept {}
  /// Take over a share that the caller already counts (a new object is born with one).
  static Share adopt(T* object) noexcept {
    Share share;
    share.object_ = object;
    return share;
  }
  /// Take a further share.
  static Share of(T* object) noexcept {
    if (object) object->add_share();
    return adopt(object);
  }
  Share(const Share& other) noexcept : object_(other.object_) {
    if (object_) object_->add_share();
  }
  Share(Share&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  template <class U>
    requires(!std::is_same_v<U, T> && std::is_convertible_v<U*, T*>)
  Share(Share<U> other) noexcept : object_(other.detach()) {}
  Share& operator=(Share other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Share() {
    if (object_) object_->drop_share();
  }

  T* get() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  T* operator->() const noexcept { return object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  friend bool operator==(const Share& a, const Share& b) noexcept { return a.object_ == b.object_; }
  /// Give the counted share to the caller.
  T* detach() noexcept { return std::exchange(object_, nullptr); }

 private:
  T* object_ = nullptr;
};

template <class T, class... Arguments>
Share<T> make(Arguments&&... arguments) {
  return Share<T>::adopt(new T(std::forward<Arguments>(arguments)...));
}

}  // namespace hexapla
