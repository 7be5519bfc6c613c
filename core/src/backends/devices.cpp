// Opens devices by name. The one place that knows which backends this build has.
#include <charconv>
#include <string>

#include "backends/cpu/device.hpp"
#include "runtime/device.hpp"
#include "runtime/error.hpp"

namespace hexapla {

std::unique_ptr<Device> open_device(std::string_view name) {
  const std::size_t colon = name.find(':');
  const std::string_view backend = name.substr(0, colon);
  const std::string_view digits = colon == std::string_view::npos ? std::string_view{} : name.substr(colon + 1);
  std::uint32_t number = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool counted = !digits.empty() && problem == std::errc{} && end == digits.data() + digits.size();
  require(counted && (backend == "cpu" || backend == "cuda"), "device \"", name.substr(0, 64), "\" is not cpu:N or cuda:N");
  if (backend == "cpu") return backends::cpu::open();
  fail(HXP_DEVICE, "no device ", name, ": this build has no cuda backend");
}

}  // namespace hexapla
