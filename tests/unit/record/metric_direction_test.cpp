// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/metric_direction.h"

#include <gtest/gtest.h>

#include "headroom/base/text.h"
#include "headroom/record/formats.h"
#include "sample_records.h"

namespace headroom {
namespace {

TEST(GuessedDirection, RatesRise) {
  for (const std::string& name :
       split("Throughput,throughput,Bandwidth,GFLOPS,GFLOPs,TFlops,ops,Mops,FPS,QPS,tokens/sec,MB/sec,"
             "MB/s,frames per second,FramesPerSecond,hit_rate,HitRate,hits,Speed,Speedup,"
             "FOM: GB/s per second,FOM: updates per second,FOM,items_per_second,bytes_per_second,"
             "token_per_sec,memory_bandwidth(GB/s),flops_utilization,accuracy,requests/ms,"
             "instructions per cycle,IPC,cache hit ratio,ops (1/s),throughput_p99,"
             "error_correction_throughput",
             ','))
    EXPECT_EQ(guessed_direction(name, ""), Direction::kHigherIsBetter) << name;
}

TEST(GuessedDirection, CostsFall) {
  for (const std::string& name :
       split("latency,Latency,p99,p99_latency,P95,misses,cache_misses,bytes,peak_memory,allocs,"
             "Allocs/op,error_rate,miss_rate,MissRate,misses per second,page-faults/s,errors,loss,"
             "compilation_time(s),Cold compile time (s),ns/op,bytes per operation,seconds per frame,"
             "cycles per byte,hit_latency,time per token (ms),dropped frames,gc.alloc.rate,"
             "graph_breaks,instructions",
             ','))
    EXPECT_EQ(guessed_direction(name, ""), Direction::kLowerIsBetter) << name;
}

TEST(GuessedDirection, TheUnitTellsWhereTheNameDoesNot) {
  EXPECT_EQ(guessed_direction("decode", "tokens/s"), Direction::kHigherIsBetter);
  EXPECT_EQ(guessed_direction("decode", "GFLOP/s"), Direction::kHigherIsBetter);
  EXPECT_EQ(guessed_direction("decode", "ms"), Direction::kLowerIsBetter);
  EXPECT_EQ(guessed_direction("decode", "s"), Direction::kLowerIsBetter);
  EXPECT_EQ(guessed_direction("arena", "B"), Direction::kLowerIsBetter);
  EXPECT_EQ(guessed_direction("arena", "MiB"), Direction::kLowerIsBetter);
}

TEST(GuessedDirection, NobodyKnowsMostWords) {
  for (const char* name : {"widgets", "x", "N", "states", "b", "rate", "ratio", "depth", "", "batch_size",
                           "p", "1", "threads", "p2", "popsicles", "misspelt"}) {
    EXPECT_EQ(guessed_direction(name, ""), Direction::kUnknown) << name;
  }
}

TEST(GuessedDirection, IsKeptInFiles) {
  Record record;
  record.model.name = "a";
  record.metric.name = "widgets";
  record.metric.direction = Direction::kUnknown;
  record.metric.value = 3;
  record.environment = std::make_shared<Environment>();
  const std::string ours = to_json_text({record});
  EXPECT_EQ(records_from_json_text(ours, "x")[0].metric.direction, Direction::kUnknown);
}

}  // namespace
}  // namespace headroom
