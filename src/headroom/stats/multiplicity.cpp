// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/multiplicity.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <stdexcept>

namespace headroom {
namespace {

/// Indices of the values, smallest first.
std::vector<std::size_t> ascending(std::span<const double> p_values) {
  for (const double p : p_values) {
    if (!(p >= 0 && p <= 1)) throw std::invalid_argument("p-value outside [0, 1]");
  }
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
  return order;
}

}  // namespace

std::vector<double> holm_adjusted(std::span<const double> p_values) {
  const std::vector<std::size_t> order = ascending(p_values);
  std::vector<double> adjusted(p_values.size());
  double largest = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const double scaled = p_values[order[i]] * static_cast<double>(order.size() - i);
    largest = std::max(largest, std::min(1.0, scaled));
    adjusted[order[i]] = largest;
  }
  return adjusted;
}

std::vector<double> benjamini_hochberg_adjusted(std::span<const double> p_values) {
  const std::vector<std::size_t> order = ascending(p_values);
  std::vector<double> adjusted(p_values.size());
  double smallest = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const double scaled = p_values[order[i]] * static_cast<double>(order.size()) / static_cast<double>(i + 1);
    smallest = std::min(smallest, scaled);
    adjusted[order[i]] = smallest;
  }
  return adjusted;
}

}  // namespace headroom
