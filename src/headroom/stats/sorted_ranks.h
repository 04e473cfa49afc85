// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

namespace headroom {

/// Gives each of `values` its rank from 1 to n in `sorted`, which holds the same values in ascending order;
/// ties get the mean of their ranks. The ranks take the place of the values: a series of very many needs no
/// memory for them.
void replace_by_ranks(std::span<double> values, std::span<const double> sorted);

}  // namespace headroom
