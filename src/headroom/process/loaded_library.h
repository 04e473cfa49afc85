// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace headroom {

/// The destructor unloads it unless kept.
class LoadedLibrary {
 public:
  /// kGlobal: later libraries can use its symbols.
  enum class Scope { kOwn, kGlobal };

  /// Path or name for the loader. Throws Error.
  explicit LoadedLibrary(const std::string& name, Scope scope = Scope::kOwn);
  ~LoadedLibrary();
  LoadedLibrary(const LoadedLibrary&) = delete;
  LoadedLibrary& operator=(const LoadedLibrary&) = delete;

  /// Null if missing: function<decltype(cuInit)>("cuInit").
  template <typename Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(address(name));
  }
  void keep() { is_kept_ = true; }

 private:
  void* address(const char* name) const;

  void* handle_ = nullptr;
  bool is_kept_ = false;
};

}  // namespace headroom
