// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "headroom/record/environment.h"
#include "headroom/schedule/plan.h"

namespace headroom {

/// The environment with the BLAS of each runner that tells of one among its dependencies
/// (record/blas_dependency.h); the same object where none does.
std::shared_ptr<const Environment> with_blas(const std::shared_ptr<const Environment>& environment,
                                             const std::vector<RunnerOffer>& offers);

}  // namespace headroom
