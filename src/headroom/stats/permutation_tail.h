// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

namespace headroom {

/// How rare it is that `count` of `scores`, drawn without replacement, add up to `sum` or more, as the z of a
/// standard normal variable that is as rare: Phi(-z). 0 < count < scores.size(). `scores` are in descending
/// order, their mean is 0 and they are not all equal.
///
/// Method. The double saddlepoint approximation for finite populations (Robinson 1982; the tail in the form
/// r* of Barndorff-Nielsen): each score is taken with probability p_i = 1/(1 + exp(-(t a_i + u))), t and u
/// such that `count` scores and `sum` are what is expected. w^2 / 2 is by how much less certain the draw was
/// before (the entropies of count/n less those of p_i). Sums come in steps: half of the last one is taken
/// off. Against counting (tests/unit/stats), for scores
/// that are bounded: z within 0.15 for 5 of 20 up to 8 of 58 scores, 0.25 for 3 of 20, down to draws of
/// which there is one.
double permutation_tail_z(std::span<const double> scores, std::size_t count, double sum);

}  // namespace headroom
