// How Python reaches core's objects: a call without the interpreter's lock, a failure as Python's error, the pressure hook in Python, and
// Owned, the share that a Python object holds. Separate from the classes because all of them rest on it. Nothing here computes, and no
// exception of either language passes through the other's frames.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <vector>

#include "abi/shim.hpp"
#include "runtime/tensor.hpp"

namespace hexapla::native {

namespace py = pybind11;

/// A host array of int32 as NumPy holds it: never converted, never copied.
using IdArray = py::array_t<std::int32_t, py::array::c_style>;

/// The Python callable that a context asks when memory is short. Every Python object of that context holds a share of it, so it lives
/// while anything can call; core alone never does.
struct Hook {
  py::function function;

  /// As hxp_pressure_hook. What the callable raises is kept for the Frame of the call that asked, and counts as "give up".
  static std::int32_t ask(void* payload, std::uint64_t need_bytes, std::uint64_t live_bytes, std::uint64_t limit_bytes) noexcept;
};

/// One call from Python, while it runs: where a hook's exception waits until the call has ended. Made and destroyed with the lock held.
class Frame {
 public:
  Frame() noexcept;
  ~Frame();
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  /// Raise the status and text as hexapla_native.Error, the hook's exception as its cause.
  [[noreturn]] void raise(hxp_status status, const hxp_error& error) const;

 private:
  friend struct Hook;
  py::object raised_;
  Frame* outer_;
};

/// Run body(hxp_error*), which answers a status, without the interpreter's lock; raise what it answers.
template <class Body>
void unlocked(Body&& body) {
  const Frame frame;
  hxp_error error;
  hxp_error_init(&error);
  hxp_status status;
  {
    const py::gil_scoped_release open;
    status = body(&error);
  }
  if (status != HXP_OK) frame.raise(status, error);
}

/// The same with the lock held, for what never waits: queries and releases.
template <class Body>
void locked(Body&& body) {
  const Frame frame;
  hxp_error error;
  hxp_error_init(&error);
  const hxp_status status = body(&error);
  if (status != HXP_OK) frame.raise(status, error);
}

constexpr std::uint16_t operation_release(Kind kind) noexcept {
  switch (kind) {
    case Kind::context: return HXP_OPERATION_CONTEXT_RELEASE;
    case Kind::tensor: return HXP_OPERATION_TENSOR_RELEASE;
    case Kind::tape: return HXP_OPERATION_TAPE_RELEASE;
    default: return 0;
  }
}

constexpr std::uint16_t operation_retain(Kind kind) noexcept {
  switch (kind) {
    case Kind::context: return HXP_OPERATION_CONTEXT_RETAIN;
    case Kind::tensor: return HXP_OPERATION_TENSOR_RETAIN;
    case Kind::tape: return HXP_OPERATION_TAPE_RETAIN;
    default: return 0;
  }
}

/// A Python object's share of a T. The registry holds the Share<T> under an id of its own, so that the process's count of handles is the
/// count of open owners, the ledger can name each, and a closed one is answered as stale in core's words.
template <class T>
class Owned {
 public:
  Owned(std::uint64_t id, std::shared_ptr<Hook> hook) noexcept : id_(id), hook_(std::move(hook)) {}
  Owned(Owned&& other) noexcept
      : id_(other.id_), open_(std::exchange(other.open_, false)), hook_(std::move(other.hook_)) {}
  Owned& operator=(Owned&&) = delete;
  ~Owned() {
    if (open_) hexapla::release<T>(nullptr, operation_release(T::kind), id_);
  }

  std::uint64_t id() const noexcept { return id_; }
  bool closed() const noexcept { return !open_; }
  const std::shared_ptr<Hook>& hook() const noexcept { return hook_; }

  /// Give the share back; a second time does nothing.
  void close() {
    if (open_) release();
  }
  /// Give the share back; a second time is a stale handle.
  void release() {
    open_ = false;
    locked([&](hxp_error* error) { return hexapla::release<T>(error, operation_release(T::kind), id_); });
  }
  /// A further owner of the same object, with an id of its own.
  Owned another() const {
    std::uint64_t id = 0;
    locked([&](hxp_error* error) { return hexapla::retain<T>(error, operation_retain(T::kind), id_, &id); });
    return {id, hook_};
  }

 private:
  std::uint64_t id_;
  bool open_ = true;
  std::shared_ptr<Hook> hook_;
};

/// A recorded call on the context of `subject`; body(CallScope&, const Share<T>&) runs without the interpreter's lock.
template <class T, class Body>
void compute_on(const Owned<T>& subject, std::uint16_t operation, Body&& body) {
  unlocked([&](hxp_error* error) { return compute<T>(error, operation, subject.id(), body); });
}

/// The same for a body that makes one object: the owner of it.
template <class Made, class T, class Make>
Owned<Made> make_on(const Owned<T>& subject, std::uint16_t operation, Make&& make) {
  std::uint64_t id = 0;
  compute_on(subject, operation, [&](CallScope& call, const Share<T>& share) { id = call.publish(make(call, share)); });
  return {id, subject.hook()};
}

/// What every class has: close, closed, with, copy, and the raw id for tests.
template <class T>
py::class_<Owned<T>> owned_class(py::module_& module, const char* name, const char* text) {
  using Owner = Owned<T>;
  return py::class_<Owner>(module, name, text)
      .def("close", &Owner::close, "Give this share back now; a closed one does nothing.")
      .def_property_readonly("closed", &Owner::closed)
      .def("__enter__", [](py::object self) { return self; })
      .def("__exit__", [](Owner& self, const py::args&) { self.close(); })
      .def("__copy__", &Owner::another, "A further owner of the same object, not of a copy of its values.")
      .def("_release", &Owner::release)
      .def_property_readonly("_id", &Owner::id);
}

void define_context(py::module_& module);
void define_tensor(py::module_& module);
void define_operations(py::module_& module);
void define_files(py::module_& module);

using ContextOwner = Owned<Context>;
using TensorOwner = Owned<Tensor>;
using TensorList = std::vector<const TensorOwner*>;

}  // namespace hexapla::native
