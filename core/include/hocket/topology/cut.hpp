#pragma once

#include <string>
#include <vector>

namespace hocket::topology {

/// `no link joins ranks 0-3,6 and ranks 4,5 in the direction needed; ...`: why what has `reached` some ranks cannot
/// get to the others.
std::string describe_cut(const std::vector<bool>& reached);

}  // namespace hocket::topology
