// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/blas_environment.h"

#include "headroom/record/blas_dependency.h"

namespace headroom {

std::shared_ptr<const Environment> with_blas(const std::shared_ptr<const Environment>& environment,
                                             const std::vector<RunnerOffer>& offers) {
  std::shared_ptr<Environment> completed;
  for (const RunnerOffer& offer : offers) {
    if (!offer.blas || !environment) continue;
    if (!completed) completed = std::make_shared<Environment>(*environment);
    add_blas(*completed, *offer.blas, offer.label);
  }
  return completed ? completed : environment;
}

}  // namespace headroom
