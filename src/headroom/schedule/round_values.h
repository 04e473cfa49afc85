// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace headroom {

/// The values of more rounds behind those that are there.
void append_rounds(std::vector<double>& values, const std::vector<double>& more);
/// a - b of each round that both have.
std::vector<double> round_differences(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace headroom
