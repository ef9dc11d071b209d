#include "bind.hpp"

namespace hocket::bind {

void bind_simulator(nb::module_&) {}

}  // namespace hocket::bind
