// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

namespace headroom {

/// mode_bounds() of the values that `make` gives each time it is asked: of very many there need be no copy
/// beside the one that is worked on.
std::vector<double> mode_bounds_of(const std::function<std::vector<double>()>& make);

}  // namespace headroom
