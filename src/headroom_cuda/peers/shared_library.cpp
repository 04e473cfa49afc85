// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/peers/shared_library.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "headroom/base/error.h"
#include "headroom_cuda_device/toolkit_roots.h"

namespace headroom::cuda {
namespace {

std::vector<std::string> folders() {
  std::vector<std::string> found{""};
  for (const std::string& root : toolkit_roots()) found.push_back(root + "/lib64/");
  return found;
}

}  // namespace

SharedLibrary::SharedLibrary(const std::vector<std::string>& names) {
  std::string refusal;
  for (const std::string& name : names) {
    for (const std::string& folder : folders()) {
      try {
        // One library may need the other: global, so that the second finds the first.
        library_ = std::make_shared<LoadedLibrary>(folder + name, LoadedLibrary::Scope::kGlobal);
        library_->keep();
        name_ = name;
        return;
      } catch (const Error& error) {
        if (refusal.empty()) refusal = error.what();
      }
    }
  }
  throw Error(
      fmt::format("none of {} could be loaded, from where the loader looks or from {} ({}): install "
                  "it, or name its folder in LD_LIBRARY_PATH",
                  fmt::join(names, ", "), folders().back(), refusal));
}

void SharedLibrary::throw_without(const char* function) const {
  throw Error(fmt::format("{} has no function {}", name_, function));
}

}  // namespace headroom::cuda
