// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "headroom/base/blas_library.h"
#include "headroom/base/json_codec.h"

namespace headroom {

template <>
struct JsonMembers<BlasLibrary> {
  static constexpr std::tuple kTable{required("name", &BlasLibrary::name),
                                     optional("version", &BlasLibrary::version),
                                     optional("file", &BlasLibrary::file)};
};

/// A BLAS as it stands in a runner's answer to "describe" (protocol.h) and in a rank's greeting.
Json to_json(const BlasLibrary& blas);
/// The member "blas" of `json`, empty where there is none. Throws Error naming the member that is of another
/// type.
std::optional<BlasLibrary> blas_of_json(const Json& json);

}  // namespace headroom
