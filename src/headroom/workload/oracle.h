// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "headroom/experiment/bf16.h"
#include "headroom/workload/team.h"

/// Reference answers in float64, as simple as possible. The workers of a team share the rows.
namespace headroom {

constexpr float kNormEpsilon = 1e-5F;

std::vector<double> to_doubles(std::span<const Bf16> values);
std::vector<double> to_doubles(std::span<const float> values);

/// Returns weights[rows][columns] times x, plus bias[rows] unless it is empty.
std::vector<double> exact_gemv(const Team& team, std::string_view dtype, const std::byte* weights,
                               std::size_t rows, std::span<const double> x,
                               std::span<const double> bias = {});

/// Normalises each row of x[.][columns], columns = gamma.size().
std::vector<double> exact_layer_norm(const Team& team, std::span<const Bf16> x, std::span<const double> gamma,
                                     std::span<const double> beta);

/// Normalises all of x.
std::vector<double> exact_layer_norm(std::span<const double> x, std::span<const double> gamma,
                                     std::span<const double> beta);

}  // namespace headroom
