// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda_device/toolkit_roots.h"

#include <cstdlib>

namespace headroom::cuda {

std::vector<std::string> toolkit_roots() {
  std::vector<std::string> roots;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    const char* root = std::getenv(variable);
    if (root != nullptr && *root != '\0') roots.emplace_back(root);
  }
  roots.emplace_back("/usr/local/cuda");
  return roots;
}

}  // namespace headroom::cuda
