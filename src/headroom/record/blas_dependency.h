// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "headroom/base/blas_library.h"
#include "headroom/record/record.h"

namespace headroom {

/// Says in `environment` that `runner` computes with `blas`: the dependency "BLAS", or "BLAS of RUNNER" where
/// another runner has another one. Its extra_info holds `name`, `file` and `runner`.
void add_blas(Environment& environment, const BlasLibrary& blas, const std::string& runner);

/// One line, what to do included, for each runner that measured any of `records` on netlib's reference BLAS;
/// empty where none did.
std::string reference_blas_text(std::span<const Record> records);

}  // namespace headroom
