// Whether a fault is this process's, without saying that it was applied: for what prepares a fault and does not yet act. Separate from
// runtime/faults.hpp because nobody outside this folder may ask so.
#pragma once

#include "runtime/faults.hpp"

namespace hexapla {

bool is_chosen(Fault fault) noexcept;

}  // namespace hexapla
