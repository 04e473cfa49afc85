// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/round_values.h"

#include <algorithm>
#include <cstddef>

namespace headroom {

void append_rounds(std::vector<double>& values, const std::vector<double>& more) {
  values.insert(values.end(), more.begin(), more.end());
}

std::vector<double> round_differences(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> values;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) values.push_back(a[i] - b[i]);
  return values;
}

}  // namespace headroom
