#include "bind.hpp"

namespace hocket::bind {

void bind_chakra(nb::module_&) {}

}  // namespace hocket::bind
