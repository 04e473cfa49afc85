// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace headroom {

/// A shared library that is loaded while the program runs, and unloaded again unless it is kept.
class LoadedLibrary {
 public:
  /// Whether libraries that are loaded later find its functions.
  enum class Scope { kOwn, kGlobal };

  /// `name` is a path, or what the loader looks for. Throws Error with the loader's reason.
  explicit LoadedLibrary(const std::string& name, Scope scope = Scope::kOwn);
  ~LoadedLibrary();
  LoadedLibrary(const LoadedLibrary&) = delete;
  LoadedLibrary& operator=(const LoadedLibrary&) = delete;

  /// Null where it has none of that name: function<decltype(cuInit)>("cuInit").
  template <typename Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(address(name));
  }
  /// It stays for the life of the process, also when this ends.
  void keep() { is_kept_ = true; }

 private:
  void* address(const char* name) const;

  void* handle_ = nullptr;
  bool is_kept_ = false;
};

}  // namespace headroom
