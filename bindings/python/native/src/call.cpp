// See call.hpp.
#include "call.hpp"

#include <cstdlib>

namespace hexapla::native {

namespace {

// The newest call from Python of this thread; it ends with the call.
thread_local Frame* frame_of_thread = nullptr;

}  // namespace

Frame::Frame() noexcept : outer_(std::exchange(frame_of_thread, this)) {}
Frame::~Frame() { frame_of_thread = outer_; }

void Frame::raise(hxp_status status, const hxp_error& error) const {
  const char* const name = hxp_status_name(status);
  if (!name) std::abort();  // a status that core does not list: a bug, not an error to be handled
  const py::object made = py::module_::import("hexapla_native.errors").attr("error_of")(name, py::str(error.message));
  if (raised_) PyException_SetCause(made.ptr(), py::object(raised_).release().ptr());
  PyErr_SetObject(py::type::handle_of(made).ptr(), made.ptr());
  throw py::error_already_set();
}

std::int32_t Hook::ask(void* payload, std::uint64_t need_bytes, std::uint64_t live_bytes, std::uint64_t limit_bytes) noexcept {
  const py::gil_scoped_acquire lock;
  try {
    return py::bool_(static_cast<const Hook*>(payload)->function(need_bytes, live_bytes, limit_bytes)) ? 1 : 0;
  } catch (py::error_already_set& error) {
    if (error.trace()) PyException_SetTraceback(error.value().ptr(), error.trace().ptr());
    if (frame_of_thread) frame_of_thread->raised_ = error.value();
  } catch (...) {  // nothing may be thrown into core; without a Python exception there is nothing to tell
  }
  return 0;
}

}  // namespace hexapla::native
