// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda_device/cupti/activity_buffers.h"

#include <cstdlib>
#include <mutex>
#include <utility>

#include "headroom/base/error.h"
#include "headroom_cuda_device/cupti/cupti_library.h"

namespace headroom::cuda {
namespace {

/// A record of a kernel has some 200 bytes: tens of thousands of them in a buffer.
constexpr std::size_t kBufferBytes = std::size_t{8} << 20;
/// CUPTI asks for 8; more is a page's, and costs nothing.
constexpr std::size_t kAlignment = 4096;

/// What CUPTI's callbacks find, for they are functions without an argument of ours. CUPTI itself is one for
/// the process.
struct Receiver {
  std::mutex mutex;
  TakeRecord take;
  std::size_t dropped = 0;
};

Receiver& receiver() {
  static Receiver one;
  return one;
}

void CUPTIAPI request_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  // Without a buffer CUPTI drops records, and counts them.
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kAlignment, kBufferBytes));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *most_records = 0;
}

void take_all(Receiver& to, std::uint8_t* buffer, std::size_t valid_bytes) {
  CUpti_Activity* record = nullptr;
  for (;;) {
    const CUptiResult status = cupti().next_record(buffer, valid_bytes, &record);
    if (status == CUPTI_ERROR_MAX_LIMIT_REACHED) break;
    if (status != CUPTI_SUCCESS) {
      ++to.dropped;
      break;
    }
    if (to.take) to.take(*record);
  }
  std::size_t dropped = 0;
  if (cupti().dropped_records(nullptr, 0, &dropped) == CUPTI_SUCCESS) to.dropped += dropped;
}

void CUPTIAPI complete_buffer(CUcontext /*context*/, std::uint32_t /*stream*/, std::uint8_t* buffer,
                              std::size_t /*size*/, std::size_t valid_bytes) {
  Receiver& to = receiver();
  const std::lock_guard lock(to.mutex);
  try {
    if (valid_bytes > 0) take_all(to, buffer, valid_bytes);
  } catch (...) {
    // Out of memory, most likely; nothing may leave a callback of C.
    ++to.dropped;
  }
  std::free(buffer);
}

}  // namespace

ActivityBuffers::ActivityBuffers(TakeRecord take) {
  {
    Receiver& to = receiver();
    const std::lock_guard lock(to.mutex);
    if (to.take) throw Error("a trace of this process's CUDA work is being recorded already");
    to.take = std::move(take);
    to.dropped = 0;
  }
  try {
    cupti().check(cupti().register_callbacks(request_buffer, complete_buffer),
                  "cuptiActivityRegisterCallbacks");
  } catch (...) {
    receiver().take = nullptr;
    throw;
  }
}

ActivityBuffers::~ActivityBuffers() {
  Receiver& to = receiver();
  const std::lock_guard lock(to.mutex);
  to.take = nullptr;
}

std::size_t ActivityBuffers::take_dropped() {
  Receiver& to = receiver();
  const std::lock_guard lock(to.mutex);
  return std::exchange(to.dropped, 0);
}

}  // namespace headroom::cuda
