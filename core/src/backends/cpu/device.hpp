// The processor as a device: host memory, aligned, and the cpu table. Every cpu:N is this one.
#pragma once

#include <memory>

#include "runtime/device.hpp"

namespace hexapla::backends::cpu {

std::unique_ptr<Device> open();

}  // namespace hexapla::backends::cpu
