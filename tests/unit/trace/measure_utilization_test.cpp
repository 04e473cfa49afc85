// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/recording/measure_utilization.h"

#include <gmock/gmock.h>

#include <fstream>
#include <string>

#include "headroom/base/error.h"
#include "trace_builder.h"

namespace headroom::trace {
namespace {

/// Writes down what is called when; its trace is busy for 40 of 60 us.
class FakeRecorder : public Recorder {
 public:
  explicit FakeRecorder(std::vector<std::string>& log) : log_(log) {}
  std::filesystem::path file;  ///< not empty: writes a file instead of making a trace
  void start() override { log_.emplace_back("start"); }
  Recording stop() override {
    log_.emplace_back("stop");
    if (!file.empty()) {
      std::ofstream(file) << R"([{"ph":"M","name":"process_labels","pid":0,"tid":0,"args":{"labels":"GPU 0"}},
        {"ph":"X","cat":"kernel","name":"sgemm","pid":0,"tid":7,"ts":0,"dur":30,"args":{"device":0,"stream":7}},
        {"ph":"X","cat":"kernel","name":"relu","pid":0,"tid":7,"ts":50,"dur":10,"args":{"device":0,"stream":7}}])";
      return file;
    }
    TraceBuilder builder;
    builder.kernel("sgemm", 0, 30'000);
    builder.kernel("relu", 50'000, 10'000);
    return std::move(builder.trace);
  }

 private:
  std::vector<std::string>& log_;
};

class MeasureUtilization : public testing::Test {
 protected:
  std::vector<std::string> log;
  FakeRecorder recorder{log};
  double clock = 0;
  MeasureOptions options() {
    MeasureOptions given;
    given.runs = 2;
    given.warm_up = 1;
    given.synchronize = [this] { log.emplace_back("sync"); };
    given.reset = [this] { log.emplace_back("reset"); };
    given.now_s = [this] { return clock; };
    return given;
  }
  std::function<void()> function = [this] {
    log.emplace_back("run");
    clock += 50e-6;
  };
};

TEST_F(MeasureUtilization, WarmsUpTimesAndThenRecords) {
  const MeasuredUtilization measured = measure_utilization(function, recorder, options());
  EXPECT_THAT(log, testing::ElementsAre("reset", "run", "sync",                                  // warm-up
                                        "reset", "run", "sync", "run", "sync",                   // timed
                                        "start", "sync", "reset", "run", "sync", "run", "sync",  // recorded
                                        "stop"));
  EXPECT_DOUBLE_EQ(measured.length_s, 100e-6);
  EXPECT_DOUBLE_EQ(measured.as_pytorch.utilization, 0.4);
  EXPECT_DOUBLE_EQ(measured.as_pytorch.mm_conv_utilization, 0.3);
  EXPECT_DOUBLE_EQ(measured.busy_share(), 0.4);
  EXPECT_DOUBLE_EQ(measured.devices.utilization(), 40.0 / 60);
}

TEST_F(MeasureUtilization, ReadsTheFileThatTheRecorderWrote) {
  recorder.file = std::filesystem::path(testing::TempDir()) / "measure_utilization_test.json";
  const MeasuredUtilization measured = measure_utilization(function, recorder, options());
  std::filesystem::remove(recorder.file);
  EXPECT_DOUBLE_EQ(measured.as_pytorch.utilization, 0.4);
  EXPECT_EQ(measured.devices.busy_ns, 40'000);
}

TEST_F(MeasureUtilization, StopsTheRecorderWhenTheFunctionThrows) {
  int left = 4;  // warm-up and two timed runs, then it throws
  const auto failing = [&] {
    function();
    if (--left == 0) throw Error("out of memory");
  };
  EXPECT_THROW(measure_utilization(failing, recorder, options()), Error);
  EXPECT_EQ(log.back(), "stop");
}

TEST_F(MeasureUtilization, RefusesWhatCannotBeMeasured) {
  MeasureOptions none = options();
  none.runs = 0;
  EXPECT_THROW(measure_utilization(function, recorder, none), Error);
  EXPECT_THROW(measure_utilization({}, recorder, options()), Error);
  EXPECT_THROW(measure_utilization([] {}, recorder, options()), Error);  // the clock stands still
  EXPECT_THAT(log, testing::Not(testing::Contains("start")));
}

}  // namespace
}  // namespace headroom::trace
