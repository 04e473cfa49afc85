// SPDX-License-Identifier: Apache-2.0
#include "headroom/runner/blas_protocol.h"

namespace headroom {

Json to_json(const BlasLibrary& blas) {
  return json_of(blas);
}

std::optional<BlasLibrary> blas_of_json(const Json& json) {
  return json_member_or<std::optional<BlasLibrary>>(json, "blas", std::nullopt, "");
}

}  // namespace headroom
