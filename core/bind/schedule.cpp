#include "bind.hpp"

namespace hocket::bind {

void bind_schedule(nb::module_&) {}

}  // namespace hocket::bind
