// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/cupti/cupti_library.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <cstdlib>

#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom::cuda {
namespace {

/// A library that stays open unless something was missing in it.
class OpenLibrary {
 public:
  explicit OpenLibrary(const std::string& path) : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    const char* reason = handle_ == nullptr ? dlerror() : nullptr;
    if (handle_ == nullptr) throw Error(reason == nullptr ? path + " cannot be loaded" : reason);
  }
  ~OpenLibrary() {
    if (handle_ != nullptr) dlclose(handle_);
  }
  OpenLibrary(const OpenLibrary&) = delete;
  OpenLibrary& operator=(const OpenLibrary&) = delete;

  template <typename Function>
  void find(Function& function, const char* name) const {
    function = reinterpret_cast<Function>(dlsym(handle_, name));
    if (function == nullptr) throw Error(std::string("it has no ") + name);
  }
  void keep() { handle_ = nullptr; }

 private:
  void* handle_;
};

CuptiLibrary load(const std::string& path) {
  OpenLibrary library(path);
  CuptiLibrary made;
  made.path = path;
  library.find(made.get_version, "cuptiGetVersion");
  library.find(made.get_result_string, "cuptiGetResultString");
  library.find(made.get_timestamp, "cuptiGetTimestamp");
  library.find(made.get_callback_name, "cuptiGetCallbackName");
  library.find(made.set_thread_id_type, "cuptiSetThreadIdType");
  library.find(made.register_callbacks, "cuptiActivityRegisterCallbacks");
  library.find(made.enable, "cuptiActivityEnable");
  library.find(made.disable, "cuptiActivityDisable");
  library.find(made.flush_all, "cuptiActivityFlushAll");
  library.find(made.next_record, "cuptiActivityGetNextRecord");
  library.find(made.dropped_records, "cuptiActivityGetNumDroppedRecords");
  made.check(made.get_version(&made.version), "cuptiGetVersion");
  // It hooks into the driver, and is not made to be unloaded.
  library.keep();
  return made;
}

}  // namespace

void CuptiLibrary::check(CUptiResult status, const char* call) const {
  if (status == CUPTI_SUCCESS) return;
  const char* reason = nullptr;
  if (get_result_string == nullptr || get_result_string(status, &reason) != CUPTI_SUCCESS) reason = nullptr;
  throw Error(std::string(call) +
              " failed: " + (reason == nullptr ? "error " + std::to_string(status) : std::string(reason)) +
              " (" + path + ")");
}

std::vector<std::string> cupti_candidates() {
  const char* named = std::getenv("HEADROOM_CUPTI");
  if (named != nullptr && *named != '\0') return {named};
  std::vector<std::string> roots;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    const char* root = std::getenv(variable);
    if (root != nullptr && *root != '\0') roots.emplace_back(root);
  }
  roots.emplace_back("/usr/local/cuda");
  std::vector<std::string> candidates;
  for (const int major : {CUDART_VERSION / 1000, CUDART_VERSION / 1000 == 12 ? 13 : 12}) {
    const std::string name = "libcupti.so." + std::to_string(major);
    candidates.push_back(name);
    for (const std::string& root : roots) {
      for (const char* folder : {"/lib64/", "/extras/CUPTI/lib64/"})
        candidates.push_back(root + folder + name);
    }
  }
  return candidates;
}

CuptiLibrary load_cupti(const std::vector<std::string>& candidates) {
  std::vector<std::string> reasons;
  for (const std::string& candidate : candidates) {
    try {
      return load(candidate);
    } catch (const Error& error) {
      reasons.push_back(candidate + ": " + error.what());
    }
  }
  throw Error(
      "CUPTI, which records what a GPU does, was not found; it comes with the CUDA toolkit: install it, or "
      "set "
      "HEADROOM_CUPTI to the path of its libcupti.so (" +
      join(reasons, "; ") + ")");
}

const CuptiLibrary& cupti() {
  static const CuptiLibrary library = load_cupti(cupti_candidates());
  return library;
}

}  // namespace headroom::cuda
