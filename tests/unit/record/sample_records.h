// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "../error_message.h"
#include "headroom/record/formats.h"
#include "headroom/record/record.h"

namespace headroom {

using test::message_of;

inline std::shared_ptr<Environment> full_environment() {
  auto environment = std::make_shared<Environment>();
  environment->timestamp = 1790000000;
  environment->fingerprint = "emerald-rapids-2c-4f1c9a02";
  environment->governor = "performance";
  environment->headroom_version = "0.1.0";
  environment->git_sha = "c0ffee";
  environment->git_branch = "main";
  environment->git_repo = "example/project";
  environment->command = {"headroom", "run", "gemv"};
  environment->machines = {
      {"cpu", "x86_64", "A CPU", 2, "DDR5", 31, "A GPU", 1, "HBM3", 80, {{"kernel", "6.1"}}}};
  environment->dependencies = {{"torch", {"pytorch/pytorch", "release", "abc", "2.5", {{"cuda", "no"}}}}};
  environment->extra_info = {{"seed", "7"}};
  environment->machines[0].cache_bytes = {48 << 10, 37487616};
  environment->machines[0].gpu_l2_bytes = 52428800;
  environment->options = {true, 0.02, CounterScope::kNone, "no counters", {}, Json{{"parts", Json::array()}}};
  environment->options.expectations = {{"add", "hit", "2", "S(0)", "8", "f32", 12.5, 0.1, "a note"}};
  environment->options.traces = {"a trace.json", "folder"};
  environment->options.writes_file = true;
  return environment;
}

/// Every field differs from its default.
inline Record full_record() {
  Record record;
  record.benchmark = {"my benchmark", "inference", "int8", {{"b", "1"}}};
  record.model = {"gemv", "kernel", "native", {"pytorch", "ours"}, {{"m", "2"}}};
  record.metric = {"memory_bandwidth(GB/s)",
                   "GB/s",
                   Direction::kHigherIsBetter,
                   12.25,
                   14.5,
                   0.9,
                   true,
                   {{"note", "x"}},
                   {{"bytes", 4096}, {"saves", 0.1}}};
  record.axes = {{"D", "1024"}, {"a", "x"}, {"dtype", "int8"}};
  record.device = "cpu";
  record.runner = "native";
  record.caches = "cold";
  record.threads = 2;
  record.outcome = {Outcome::Kind::kFailed, "killed by signal 9"};
  record.samples = {{4711,
                     100,
                     1,
                     {12.0, 12.25, 0.1},
                     {0, 1, 3},
                     {},
                     {{1980, 3201, 690.5, 80, 0x4}, {}, {1200, 3201, 300.25, 61, 0x40}}},
                    {4712, 50, 0, {12.5}, {2}, {}}};
  for (const SampleNoise& noise :
       {SampleNoise{0.5, 1, 2, 2600.5, 61}, {0, 0, 0, 0, 0}, {1.5, 4, 5, 2600, 60.5}})
    record.samples[0].noise.push_back(noise);
  record.interval = Interval{12.0, 12.5, 0.9};
  record.stop = StopReason::kRunnerLost;
  record.limit = Limit{{{"read", 32 << 20, "linear", "", 2}}, 15.5, 0.79, Interval{0.78, 0.8, 0.95}, true};
  record.max_error = 0.001;
  record.error_bound = 0.25;
  record.sums_in = Precision::kBf16;
  record.kept_wrong = true;
  record.verified = true;
  record.notes = {"steal time in 2 of 3 samples",
                  {NoteKind::kPreempted, {2, 3}},
                  {NoteKind::kThrottled, {1, 3}, "power cap in 1"}};
  record.instrument = Instrument::kImport;
  record.tool = "a tool";
  record.look = Look::kRunning;
  record.huge_pages = 0.25;
  record.slowest = Record::Slowest{3, 0.75};
  record.environment = full_environment();
  return record;
}

inline Record measured(const std::string& experiment, const std::string& shape, const std::string& dtype,
                       double value) {
  Record record;
  record.model.name = experiment;
  record.model.backend = "native";
  record.benchmark.dtype = dtype;
  record.metric = {"memory_bandwidth(GB/s)", "GB/s", Direction::kHigherIsBetter, value, {}, {}, true};
  record.axes = {{"D", shape}, {"dtype", dtype}};
  record.device = "cpu";
  record.runner = "native";
  return record;
}

inline std::string reader_file(const std::string& name) {
  return std::string(HEADROOM_TEST_DATA) + "/readers/" + name;
}

inline std::vector<Record> read_text(const std::string& text) {
  return records_from_text(PaddedText(text), "file");
}

inline std::string refusal(const std::string& text) {
  return message_of([&] { read_text(text); });
}

inline std::vector<std::string> metric_names(const std::vector<Record>& records) {
  std::vector<std::string> names;
  for (const Record& record : records) names.push_back(record.metric.name);
  return names;
}

}  // namespace headroom
