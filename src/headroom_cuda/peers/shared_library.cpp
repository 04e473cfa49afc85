// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/peers/shared_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>

#include "headroom/base/error.h"

namespace headroom::cuda {
namespace {

std::vector<std::string> folders() {
  std::vector<std::string> found{""};
  if (const char* home = std::getenv("CUDA_HOME"); home != nullptr && *home != '\0') {
    found.push_back(std::string(home) + "/lib64/");
  }
  found.emplace_back("/usr/local/cuda/lib64/");
  return found;
}

}  // namespace

SharedLibrary::SharedLibrary(const std::vector<std::string>& names) {
  std::string refusal;
  for (const std::string& name : names) {
    for (const std::string& folder : folders()) {
      // One library may need the other: global, so that the second finds the first.
      handle_ = dlopen((folder + name).c_str(), RTLD_NOW | RTLD_GLOBAL);
      if (handle_ != nullptr) {
        name_ = name;
        return;
      }
      if (refusal.empty()) refusal = dlerror();
    }
  }
  throw Error(
      fmt::format("none of {} could be loaded, from where the loader looks or from {} ({}): install "
                  "it, or name its folder in LD_LIBRARY_PATH",
                  fmt::join(names, ", "), folders().back(), refusal));
}

void* SharedLibrary::address(const char* function) const {
  void* const found = dlsym(handle_, function);
  if (found == nullptr) throw Error(fmt::format("{} has no function {}", name_, function));
  return found;
}

}  // namespace headroom::cuda
