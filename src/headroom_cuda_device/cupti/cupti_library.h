// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

#include <cstdint>
#include <string>
#include <vector>

namespace headroom::cuda {

/// The functions of CUPTI that recording needs, from the library that was found when something was first
/// recorded. It is never linked: a process that records nothing does not load it, and stays unchanged by it.
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

  /// Throws Error where a call of CUPTI failed: check(enable(kind), "cuptiActivityEnable").
  void check(CUptiResult status, const char* call) const;
};

/// Where CUPTI is looked for, in this order: what HEADROOM_CUPTI names (and then nowhere else), the loader's
/// own search, CUDA_HOME and CUDA_PATH, and where toolkits are installed. The library of the CUDA that this
/// was built with comes before that of the other version.
std::vector<std::string> cupti_candidates();

/// Loads the first of `candidates` that can be loaded and has all functions. Throws Error that says why none
/// can.
CuptiLibrary load_cupti(const std::vector<std::string>& candidates);

/// That of this process, loaded by the first call. Throws Error, and tries again when it is called again.
const CuptiLibrary& cupti();

}  // namespace headroom::cuda
