#include "bind.hpp"

namespace hocket::bind {

void bind_synthesizer(nb::module_&) {}

}  // namespace hocket::bind
