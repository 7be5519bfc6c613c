// How the core fails inside: one exception type that carries a status and one line of text. Separate so that every part can throw it
// without knowing the ABI; abi/shim.hpp alone turns it into an hxp_status. Nothing here may be caught to go on as if it had not been.
#pragma once

#include <cstdint>
#include <exception>
#include <sstream>
#include <string>
#include <utility>

#include "hexapla/status.h"

namespace hexapla {

struct Error : std::exception {
  Error(hxp_status status_of, std::string text_of) : status(status_of), text(std::move(text_of)) {}
  const char* what() const noexcept override { return text.c_str(); }

  hxp_status status;
  std::string text;
  std::uint64_t released = 0;  // the id that was used after its release, until the ledger has a record of it
};

/// The parts, written one after the other ("out holds ", 3, " of ", 4).
template <class... Parts>
std::string join(const Parts&... parts) {
  std::ostringstream text;
  text.imbue(std::locale::classic());
  (text << ... << parts);
  return std::move(text).str();
}

/// Throw an Error of this status; the parts make its text: one line, the values, no function's name.
template <class... Parts>
[[noreturn]] void fail(hxp_status status, const Parts&... parts) {
  throw Error(status, join(parts...));
}

/// Throw HXP_INVALID_ARGUMENT unless the condition holds. The parts are only written when it does not.
template <class... Parts>
void require(bool condition, const Parts&... parts) {
  if (!condition) [[unlikely]] fail(HXP_INVALID_ARGUMENT, parts...);
}

}  // namespace hexapla
