// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

#include <cstdint>
#include <string>
#include <vector>

namespace headroom::cuda {

/// CUPTI is never linked: a process that records nothing does not load it.
struct CuptiLibrary {
  std::string path;  ///< or the name under which the loader found it
  std::uint32_t version = 0;

  decltype(&cuptiGetVersion) get_version = nullptr;
  decltype(&cuptiGetResultString) get_result_string = nullptr;
  decltype(&cuptiGetTimestamp) get_timestamp = nullptr;
  decltype(&cuptiGetCallbackName) get_callback_name = nullptr;
  decltype(&cuptiSetThreadIdType) set_thread_id_type = nullptr;
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&cuptiActivityEnable) enable = nullptr;
  decltype(&cuptiActivityDisable) disable = nullptr;
  decltype(&cuptiActivityFlushAll) flush_all = nullptr;
  decltype(&cuptiActivityGetNextRecord) next_record = nullptr;
  decltype(&cuptiActivityGetNumDroppedRecords) dropped_records = nullptr;

  /// Throws Error if a CUPTI call failed: check(enable(kind), "cuptiActivityEnable").
  void check(CUptiResult status, const char* call) const;
};

/// Returns the search order: HEADROOM_CUPTI (then nowhere else), the loader, CUDA_HOME and CUDA_PATH,
/// installed toolkits; the CUDA version of this build first.
std::vector<std::string> cupti_candidates();

/// Loads the first usable candidate. Throws Error with the reasons if all fail.
CuptiLibrary load_cupti(const std::vector<std::string>& candidates);

/// Returns this process's CUPTI, loaded by the first call. Throws Error; the next call tries again.
const CuptiLibrary& cupti();

}  // namespace headroom::cuda
