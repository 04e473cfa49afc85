// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "headroom/experiment/bf16.h"
#include "headroom/experiment/state.h"
#include "headroom/experiment/sum_tolerance.h"
#include "headroom/workload/team.h"

namespace headroom::cuda {

/// A team of this thread, for the oracle.
inline headroom::Team alone() {
  return [](const std::function<void(int, int)>& body) { body(0, 1); };
}

inline void expect_close(std::span<const float> actual, const std::vector<double>& expected,
                         Tolerance tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  const double rms = root_mean_square(expected);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_LE(scaled_error(double{actual[i]}, expected[i], rms), tolerance.relative)
        << "at " << i << ": " << actual[i] << " instead of " << expected[i];
  }
}

inline void expect_close(std::span<const Bf16> actual, const std::vector<double>& expected,
                         Tolerance tolerance) {
  std::vector<float> values(actual.size());
  std::ranges::transform(actual, values.begin(), to_float);
  expect_close(values, expected, tolerance);
}

}  // namespace headroom::cuda
