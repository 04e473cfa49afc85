// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda_device/cupti/cupti_library.h"

#include <cuda_runtime_api.h>

#include <cstdlib>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/process/loaded_library.h"
#include "headroom_cuda_device/device.h"

namespace headroom::cuda {
namespace {

template <typename Function>
void find(const LoadedLibrary& library, Function*& function, const char* name) {
  function = library.function<Function>(name);
  if (function == nullptr) throw Error(std::string("it has no ") + name);
}

CuptiLibrary load(const std::string& path) {
  LoadedLibrary library(path);
  CuptiLibrary made;
  made.path = path;
  find(library, made.get_version, "cuptiGetVersion");
  find(library, made.get_result_string, "cuptiGetResultString");
  find(library, made.get_timestamp, "cuptiGetTimestamp");
  find(library, made.get_callback_name, "cuptiGetCallbackName");
  find(library, made.set_thread_id_type, "cuptiSetThreadIdType");
  find(library, made.register_callbacks, "cuptiActivityRegisterCallbacks");
  find(library, made.enable, "cuptiActivityEnable");
  find(library, made.disable, "cuptiActivityDisable");
  find(library, made.flush_all, "cuptiActivityFlushAll");
  find(library, made.next_record, "cuptiActivityGetNextRecord");
  find(library, made.dropped_records, "cuptiActivityGetNumDroppedRecords");
  made.check(made.get_version(&made.version), "cuptiGetVersion");
  // CUPTI hooks into the driver and cannot be unloaded.
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
  const std::vector<std::string> roots = toolkit_roots();
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
      "cannot record GPU work: CUPTI was not found; install the CUDA toolkit, or set HEADROOM_CUPTI to the "
      "path of its libcupti.so (" +
      join(reasons, "; ") + ")");
}

const CuptiLibrary& cupti() {
  static const CuptiLibrary library = load_cupti(cupti_candidates());
  return library;
}

}  // namespace headroom::cuda
