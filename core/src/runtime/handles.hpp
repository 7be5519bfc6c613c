// The registry of handles: 64-bit ids → shares of objects. An id is (kind << 56 | number), the number counted up for the process and
// never used again. Finding an id and counting its share happen under one lock, so a release on another thread is either before (stale)
// or after. The registry is never destroyed: releases come at process exit too. No destructor runs under its locks.
#pragma once

#include <cstdint>

#include "runtime/error.hpp"
#include "runtime/object.hpp"

namespace hexapla {

/// A new id for an object; the id holds the share. Counts one live handle in the process and in the object's context.
std::uint64_t publish(Share<Object> object);

/// A share of the object behind an id of that kind. Throws HXP_STALE_HANDLE or HXP_WRONG_KIND; the text says id, kind and what is known.
Share<Object> share_object(std::uint64_t id, Kind expected);

template <class T>
Share<T> share(std::uint64_t id) {
  return Share<T>::adopt(static_cast<T*>(share_object(id, T::kind).detach()));
}

/// End an id. Throws as share_object does. The caller drops the share that comes back (and with it perhaps the object).
Share<Object> withdraw(std::uint64_t id, Kind expected);

template <class T>
Share<T> withdraw(std::uint64_t id) {
  return Share<T>::adopt(static_cast<T*>(withdraw(id, T::kind).detach()));
}

/// The number of the context in which a released id lived; 0 where it had none, or was forgotten (the registry remembers the last few
/// ten thousand). The ledger names who uses an id after its release, since a stale id leads to no object.
std::uint64_t home_of_released(std::uint64_t id) noexcept;

/// Ids given out and not yet released, of every kind; and calls that met a stale one.
std::int64_t live_handles() noexcept;
std::int64_t stale_calls() noexcept;

}  // namespace hexapla
