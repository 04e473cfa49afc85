// SPDX-License-Identifier: Apache-2.0
#include "headroom/machine/memory_cap.h"

#include <sys/resource.h>

#include <algorithm>

namespace headroom {

MemoryCap::MemoryCap(std::int64_t bytes) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_DATA, &limit) != 0) return;
  before_ = limit.rlim_cur;
  limit.rlim_cur = std::min<rlim_t>(static_cast<rlim_t>(bytes), limit.rlim_cur);
  is_set_ = ::setrlimit(RLIMIT_DATA, &limit) == 0;
}

MemoryCap::~MemoryCap() {
  rlimit limit{};
  if (!is_set_ || ::getrlimit(RLIMIT_DATA, &limit) != 0) return;
  limit.rlim_cur = before_;
  ::setrlimit(RLIMIT_DATA, &limit);
}

}  // namespace headroom
