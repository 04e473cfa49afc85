// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace headroom {

/// A shared library loaded at run time; unloaded by the destructor unless kept.
class LoadedLibrary {
 public:
  /// Whether libraries loaded later can use its symbols.
  enum class Scope { kOwn, kGlobal };

  /// `name`: a path or a name for the loader. Throws Error with the loader's reason.
  explicit LoadedLibrary(const std::string& name, Scope scope = Scope::kOwn);
  ~LoadedLibrary();
  LoadedLibrary(const LoadedLibrary&) = delete;
  LoadedLibrary& operator=(const LoadedLibrary&) = delete;

  /// nullptr if missing. Example: function<decltype(cuInit)>("cuInit").
  template <typename Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(address(name));
  }
  /// Keeps the library loaded for the life of the process.
  void keep() { is_kept_ = true; }

 private:
  void* address(const char* name) const;

  void* handle_ = nullptr;
  bool is_kept_ = false;
};

}  // namespace headroom
