// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headroom/base/loaded_library.h"

namespace headroom::cuda {

/// A library that is loaded while the program runs, and stays loaded.
class SharedLibrary {
 public:
  /// The first of `names` that is found: by the loader (LD_LIBRARY_PATH, ld.so.conf), then in CUDA_HOME,
  /// CUDA_PATH and /usr/local/cuda. Throws Error, saying what was looked for.
  explicit SharedLibrary(const std::vector<std::string>& names);

  /// A function of it: find("cublasCreate_v2", create). Throws Error where it is not there.
  template <typename Function>
  void find(const char* function, Function*& found) const {
    found = library_->function<Function>(function);
    if (found == nullptr) throw_without(function);
  }
  const std::string& name() const { return name_; }

 private:
  [[noreturn]] void throw_without(const char* function) const;

  std::string name_;
  std::shared_ptr<LoadedLibrary> library_;
};

}  // namespace headroom::cuda
