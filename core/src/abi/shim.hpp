// What every shim is made of: guard (call, translate), compute (a recorded call on a context), and checks of structs and text. Separate
// because it is the one place where exceptions become statuses. A shim checks, calls and translates; it computes nothing.
#pragma once

#include <cstring>
#include <new>
#include <string_view>
#include <utility>

#include "hexapla/ledger.h"
#include "hexapla/status.h"
#include "runtime/call.hpp"
#include "runtime/error.hpp"
#include "runtime/handles.hpp"

namespace hexapla {

/// Put a status and its text, as one line, into the caller's error (NULL or without its size: nothing is written).
hxp_status report(hxp_error* error, hxp_status status, std::string_view text) noexcept;

/// Run the body; what it throws becomes the status and the text.
template <class Body>
hxp_status guard(hxp_error* error, Body&& body) noexcept {
  try {
    std::forward<Body>(body)();
    return HXP_OK;
  } catch (const Error& caught) {
    return report(error, caught.status, caught.text);
  } catch (const std::bad_alloc&) {
    return report(error, HXP_OUT_OF_MEMORY, "the host has no memory left");
  } catch (const std::exception& caught) {
    return report(error, HXP_INTERNAL, caught.what());
  } catch (...) {
    return report(error, HXP_INTERNAL, "unknown exception");
  }
}

/// The same for an operation that the ledger knows: a handle used after its release is recorded in the context in which it lived.
template <class Body>
hxp_status guard(hxp_error* error, std::uint16_t operation, Body&& body) noexcept {
  return guard(error, [&] {
    try {
      std::forward<Body>(body)();
    } catch (const Error& caught) {
      if (caught.released && operation) Context::record_in(home_of_released(caught.released), operation, caught.released, caught.status);
      throw;
    }
  });
}

/// A recorded call on the context of `handle`, a T. The body gets the call and a share of the T: body(CallScope&, const Share<T>&).
template <class T, class Body>
hxp_status compute(hxp_error* error, std::uint16_t operation, std::uint64_t handle, Body&& body) noexcept {
  return guard(error, operation, [&] {
    Share<T> found = share<T>(handle);
    CallScope call(*found->home(), operation, handle);
    call.perform([&] {
      const Share<T> subject = std::move(found);  // dropped before the record is written: its bytes belong there
      body(call, subject);
    });
  });
}

hxp_status retain(hxp_error* error, std::uint16_t operation, Kind kind, std::uint64_t handle, std::uint64_t* out) noexcept;
hxp_status release(hxp_error* error, std::uint16_t operation, Kind kind, std::uint64_t handle) noexcept;

/// A retain: a new id for the same object. Recorded if the object has a context (operation 0 where it has none); waits for no call.
template <class T>
hxp_status retain(hxp_error* error, std::uint16_t operation, std::uint64_t handle, std::uint64_t* out) noexcept {
  return retain(error, operation, T::kind, handle, out);
}

/// A release: 0 does nothing. Recorded likewise, bytes given back included; waits for no call, works inside the pressure hook.
template <class T>
hxp_status release(hxp_error* error, std::uint16_t operation, std::uint64_t handle) noexcept {
  return release(error, operation, T::kind, handle);
}

/// The caller's struct must say its size as this core knows it.
template <class T>
void require_struct(const T* given, const char* name) {
  require(given != nullptr, name, " must be given");
  require(given->struct_size == sizeof(T), name, " has struct_size ", given->struct_size, ", this core knows ", sizeof(T),
          ": fill it with its init function");
}

/// Text to a caller's buffer, with its zero byte; never cut.
void write_text(std::string_view text, char* out, std::uint64_t out_bytes);

}  // namespace hexapla
