// SPDX-License-Identifier: Apache-2.0
// Fills a history with results, to measure queries of a large one.
//
//   store_speed PLACE RUNS SERIES       PLACE: a new file, or postgresql://...
//
// Each run has one result per series, of 20 samples. Prints how long appending took. Then, for example:
// hyperfine -N 'headroom history --store PLACE --series 1' (goal: 50 ms with 1,000,000 results).
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <random>
#include <vector>

#include "headroom/history/store.h"
#include "headroom/record/record.h"

namespace {

headroom::Record record_of(int series, double level, std::mt19937_64& engine) {
  headroom::Record record;
  record.model.name = fmt::format("experiment{}", series / 100);
  record.model.backend = "native";
  record.metric.name = "latency";
  record.metric.unit = "us";
  record.axes = {{"D", fmt::format("{}", series % 100)}, {"dtype", "float32"}};
  record.device = "cpu";
  record.threads = 2;
  headroom::ProcessSamples process;
  for (std::uint32_t i = 0; i < 20; ++i) {
    process.values.push_back(level * (1 + 0.01 * static_cast<double>(engine() >> 11) * 0x1p-53));
    process.rounds.push_back(i);
  }
  record.metric.value = process.values[10];
  record.interval = headroom::Interval{process.values[3], process.values[15], 0.95};
  record.samples.push_back(std::move(process));
  return record;
}

void fill(const char* place, int runs, int series) {
  const auto store = headroom::open_store(place);
  std::mt19937_64 engine(1);
  const auto start = std::chrono::steady_clock::now();
  for (int run = 0; run < runs; ++run) {
    auto environment = std::make_shared<headroom::Environment>();
    environment->timestamp = 1700000000U + 3600U * static_cast<unsigned>(run);
    environment->fingerprint = "bench-machine";
    environment->git_sha = fmt::format("{:040x}", run);
    std::vector<headroom::Record> records;
    for (int i = 0; i < series; ++i) {
      records.push_back(record_of(i, run < runs / 2 ? 10 : 11, engine));
      records.back().environment = environment;
    }
    store->append(records);
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  fmt::print("{} runs of {} results in {:.1f} s: {:.0f} results/s\n", runs, series, taken.count(),
             runs * series / taken.count());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: store_speed PLACE RUNS SERIES\n", stderr);
    return 2;
  }
  try {
    fill(argv[1], std::atoi(argv[2]), std::atoi(argv[3]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "store_speed: %s\n", error.what());
    return 2;
  }
}
