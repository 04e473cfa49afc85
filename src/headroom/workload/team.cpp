// SPDX-License-Identifier: Apache-2.0
#include "headroom/workload/team.h"

#include <thread>
#include <vector>

namespace headroom {

Team fresh_threads(int workers) {
  return [workers](const std::function<void(int, int)>& body) {
    std::vector<std::jthread> others;
    for (int worker = 1; worker < workers; ++worker) {
      others.emplace_back([&body, worker, workers] { body(worker, workers); });
    }
    body(0, workers);
  };
}

}  // namespace headroom
