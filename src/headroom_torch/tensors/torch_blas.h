// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "headroom/base/blas_library.h"

namespace headroom::torch_runner {

/// What libtorch multiplies matrices with: the MKL that is in PyPI's builds for x86-64, or the BLAS that
/// this process has loaded (Debian's libblas.so.3, the OpenBLAS in PyPI's builds for aarch64).
std::optional<BlasLibrary> torch_blas();

}  // namespace headroom::torch_runner
