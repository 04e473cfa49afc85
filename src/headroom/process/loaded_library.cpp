// SPDX-License-Identifier: Apache-2.0
#include "headroom/process/loaded_library.h"

#include <dlfcn.h>

#include "headroom/base/error.h"

namespace headroom {

LoadedLibrary::LoadedLibrary(const std::string& name, Scope scope)
    : handle_(::dlopen(name.c_str(), RTLD_NOW | (scope == Scope::kGlobal ? RTLD_GLOBAL : RTLD_LOCAL))) {
  if (handle_ != nullptr) return;
  const char* reason = ::dlerror();
  throw Error(reason == nullptr ? name + " cannot be loaded" : reason);
}

LoadedLibrary::~LoadedLibrary() {
  if (!is_kept_) ::dlclose(handle_);
}

void* LoadedLibrary::address(const char* name) const {
  return ::dlsym(handle_, name);
}

}  // namespace headroom
