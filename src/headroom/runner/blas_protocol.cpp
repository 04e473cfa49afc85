// SPDX-License-Identifier: Apache-2.0
#include "headroom/runner/blas_protocol.h"

namespace headroom {

Json to_json(const BlasLibrary& blas) {
  return {{"name", blas.name}, {"version", blas.version}, {"file", blas.file}};
}

std::optional<BlasLibrary> blas_of_json(const Json& json) {
  if (!json.contains("blas")) return std::nullopt;
  const Json& blas = json_member(json, "blas", "");
  return BlasLibrary{json_string(blas, "name", "/blas"), json_string_or(blas, "version", "", "/blas"),
                     json_string_or(blas, "file", "", "/blas")};
}

}  // namespace headroom
