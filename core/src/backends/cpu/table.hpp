// The table of the cpu device.
#pragma once

#include "backends/table.hpp"

namespace hexapla::backends::cpu {

const Table& table();

}  // namespace hexapla::backends::cpu
