// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace headroom::cuda {

/// Folders in which a CUDA toolkit may be installed, for what the loader does not find by itself: CUDA_HOME,
/// CUDA_PATH, then where NVIDIA's installer puts it.
std::vector<std::string> toolkit_roots();

}  // namespace headroom::cuda
