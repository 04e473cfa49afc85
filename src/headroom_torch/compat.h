// SPDX-License-Identifier: Apache-2.0
// Where libtorch 1.13 (Debian's) and 2.x differ: all of it is here, and nothing else is.
#pragma once

#include <torch/version.h>

/// Whether libtorch is MAJOR.MINOR or newer, for #if.
#define HEADROOM_TORCH_AT_LEAST(major, minor) \
  (TORCH_VERSION_MAJOR > (major) || (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))

/// AOTInductor packages: the loader came with 2.5, and its header is not in every build.
#if HEADROOM_TORCH_AT_LEAST(2, 5)
#if __has_include(<torch/csrc/inductor/aoti_package/model_package_loader.h>)
#define HEADROOM_TORCH_HAS_PACKAGES 1
#endif
#endif
#ifndef HEADROOM_TORCH_HAS_PACKAGES
#define HEADROOM_TORCH_HAS_PACKAGES 0
#endif

namespace headroom::torch_runner {

/// "1.13.1": of the headers that this was compiled with.
inline constexpr const char* kTorchVersion = TORCH_VERSION;

}  // namespace headroom::torch_runner
