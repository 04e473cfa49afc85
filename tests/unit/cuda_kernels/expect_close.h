// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "headroom/experiment/bf16.h"
#include "headroom/experiment/scaled_error.h"
#include "headroom/experiment/state.h"
#include "headroom/workload/team.h"

namespace headroom::cuda {

/// The oracle's team: this thread.
inline headroom::Team alone() {
  return [](const std::function<void(int, int)>& body) { body(0, 1); };
}

inline void expect_close(std::span<const Bf16> actual, const std::vector<double>& expected,
                         Tolerance tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  const double rms = root_mean_square(expected);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double value = to_float(actual[i]);
    ASSERT_LE(scaled_error(value, expected[i], rms), tolerance.relative)
        << "at " << i << ": " << value << " instead of " << expected[i];
  }
}

}  // namespace headroom::cuda
