// SPDX-License-Identifier: Apache-2.0
#include "cli/shared/busy_warning.h"

#include <chrono>
#include <cstdio>
#include <thread>

#include "cli/shared/say.h"
#include "headroom/machine/cpu_load.h"
#include "headroom/process/affinity.h"

namespace headroom::cli {
namespace {

double sleep_a_tenth_of_a_second() {
  const auto start = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

std::optional<LoadWarning> warn_when_busy(int threads) {
  auto warning = load_warning(measure_cpu_load(allowed_cpus(), sleep_a_tenth_of_a_second), threads);
  if (warning) say("{}; {}", warning->what, warning->advice);
  return warning;
}

void note_busy(std::vector<Record>& records, const std::optional<LoadWarning>& warning) {
  if (!warning) return;
  for (Record& record : records) {
    record.busy_cpus = warning->busy_cpus;
    record.notes.push_back(warning->what);
  }
}

}  // namespace headroom::cli
