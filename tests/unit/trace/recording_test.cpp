// SPDX-License-Identifier: Apache-2.0
#include <fstream>

#include "../error_message.h"
#include "analysis_run.h"
#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom_trace/peers/pytorch_utilization.h"
#include "headroom_trace/readers/read.h"
#include "headroom_trace/recording/measure_utilization.h"
#include "headroom_trace/recording/recorder.h"
#include "headroom_trace/work/trace_checks.h"

namespace headroom::trace {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(ClockMap, OffsetAndRateComeOfTwoPairs) {
  // The device's clock gains 20 ppm.
  const ClockMap map({5 * kSecond, 900}, {7 * kSecond + 40'000, 2 * kSecond + 900});
  EXPECT_EQ(map(5 * kSecond), 900);
  EXPECT_EQ(map(7 * kSecond + 40'000), 2 * kSecond + 900);
  EXPECT_EQ(map(6 * kSecond + 20'000), kSecond + 900);
  EXPECT_EQ(map(4 * kSecond - 20'000), -kSecond + 900) << "before the first pair too";
}

TEST(ClockMap, PairsThatAreCloseGiveTheOffsetAlone) {
  // 2000 ppm: 2 us of error in 1 ms.
  const ClockMap map({100, 1'000'100}, {1'000'100, 2'002'100});
  EXPECT_EQ(map(500'100), 1'500'100);
}

TEST(ClockMap, NanosecondsSince1970AreKept) {
  constexpr std::int64_t kNow = 1'763'798'400'123'456'789;
  const ClockMap map({kNow, 77}, {kNow + kSecond, 77 + kSecond});
  EXPECT_EQ(map(kNow + 1), 78);
  EXPECT_EQ(map(kNow + 999'999'999), 77 + 999'999'999);
}

TEST(ClockMap, AClockThatWasSetIsRefused) {
  EXPECT_THAT(test::message_of([] { ClockMap({0, 0}, {-kSecond, kSecond}); }), HasSubstr("record again"));
  EXPECT_THAT(test::message_of([] {
                ClockMap({0, 0}, {3600 * kSecond, kSecond});
              }),
              HasSubstr("advanced 3600.000000 s but the system clock 1.000000 s"));
}

TEST(ReadClocks, CountFrom1970AndFromSomewhere) {
  const ClockReading first = read_clocks(), second = read_clocks();
  EXPECT_GT(first.unix_ns, 1'600'000'000 * kSecond);
  EXPECT_GE(second.steady_ns, first.steady_ns);
}

constexpr std::int64_t kStart = 700'000'000'000;  // of the recording, on the steady clock

ApiCall call(const std::string& name, std::int64_t correlation, std::int64_t from_us, std::int64_t to_us) {
  return {name, false, 211, 42, correlation, kStart + from_us * 1000, kStart + to_us * 1000};
}

RecordedWork work(std::variant<KernelShape, CopyShape, SetShape> shape, std::int64_t correlation,
                  std::int32_t stream, std::int64_t from_ns, std::int64_t to_ns) {
  RecordedWork made;
  made.shape = std::move(shape);
  made.stream = stream;
  made.context = 1;
  made.correlation = correlation;
  made.start_ns = kStart + from_ns;
  made.end_ns = kStart + to_ns;
  return made;
}

RecordedWork kernel(const std::string& name, std::int64_t correlation, std::int32_t stream,
                    std::int64_t from_ns, std::int64_t to_ns) {
  RecordedWork made =
      work(KernelShape{{264, 1, 1}, {256, 1, 1}, 40, 1024, 6}, correlation, stream, from_ns, to_ns);
  made.name = name;
  return made;
}

DeviceActivity small_run() {
  DeviceActivity activity;
  activity.started = {kStart, 1'763'798'400'000'000'000};
  activity.program = "headroom-cuda";
  activity.recorded_by = "a test";
  activity.process = 4711;
  DeviceDescription device;
  device.name = "NVIDIA H200";
  device.memory_bytes = 150'000'000'000;
  device.compute_major = 9;
  device.multiprocessors = 132;
  device.max_threads_per_multiprocessor = 2048;
  activity.devices = {device};
  activity.steps = {{42, kStart, kStart + 100'000}};
  activity.calls = {call("cudaMemcpyAsync", 1, 1, 4), call("cudaLaunchKernel", 2, 5, 8),
                    call("cudaGraphLaunch", 3, 9, 14), call("cudaMemsetAsync", 4, 15, 17),
                    call("cudaStreamSynchronize", 5, 18, 90)};
  activity.work = {
      work(CopyShape{"HtoD", "Pinned", "Device", 4096}, 1, 7, 10'000, 12'048),
      kernel("void headroom::cuda::gemv<__nv_bfloat16>(float*)", 2, 7, 20'000, 40'500),
      kernel("sm90_xmma_gemm_bf16", 3, 13, 30'000, 45'250),
      kernel("void scale(float*)", 3, 13, 46'000, 47'000),
      work(SetShape{"Device", 64}, 4, 7, 60'000, 60'001),
  };
  activity.work[2].graph = activity.work[3].graph = 9;
  return activity;
}

class Written : public testing::Test {
 protected:
  std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "device_activity_test.json";
  ~Written() override { std::filesystem::remove(file); }

  Trace written(const DeviceActivity& activity) {
    write_device_activity(file, activity);
    return read(file, {});
  }
  Json json() const { return parse_json(read_file(file), "trace"); }
  std::vector<Json> events(const std::string& phase, const std::string& category) const {
    std::vector<Json> found;
    const Json trace = json();
    for (const Json& event : trace.at("traceEvents")) {
      if (event.at("ph") == phase && event.value("cat", "") == category) found.push_back(event);
    }
    return found;
  }
};

TEST_F(Written, OurOwnReaderFindsNothingAmiss) {
  const Trace trace = written(small_run());
  EXPECT_EQ(trace.problems.count, 0U);
  EXPECT_EQ(std::tuple(trace.is_complete, trace.base_time_ns), std::tuple(true, 1'763'798'400'000'000'000));
  ASSERT_EQ(trace.gpu.size(), 5U);
  ASSERT_EQ(trace.devices.size(), 1U);
  EXPECT_EQ(trace.devices[0].multiprocessors, 132);
  EXPECT_EQ(trace.devices[0].max_warps_per_multiprocessor(), 64);
  for (const TraceCheck& check : trace_checks(trace)) {
    EXPECT_EQ(check.is_anomaly ? check.count : 0, 0U) << check.what;
  }
}

TEST_F(Written, WorkHasWhatKinetoSaysOfIt) {
  const Trace trace = written(small_run());
  const GpuDetail& copy = trace.gpu[0];
  EXPECT_EQ(trace.names[trace.events.name[copy.event]], "Memcpy HtoD (Pinned -> Device)");
  EXPECT_EQ(trace.events.start_ns[copy.event], 1'763'798'400'000'010'000);
  EXPECT_EQ(trace.events.duration_ns[copy.event], 2048);
  EXPECT_EQ(trace.events.correlation[copy.event], 1);
  EXPECT_EQ(std::tuple(copy.bytes, copy.bandwidth_gb_s), std::tuple(4096, 2));
  const GpuDetail& gemv = trace.gpu[1];
  EXPECT_EQ(std::tuple(gemv.device, gemv.stream, gemv.registers_per_thread, gemv.grid[0], gemv.block[0]),
            std::tuple(0, 7, 40, 264U, 256U));
  EXPECT_EQ(std::tuple(gemv.blocks_per_sm, gemv.warps_per_sm), std::tuple(2, 16));
  EXPECT_EQ(gemv.occupancy_percent, 25) << "2 blocks of 256 threads of 2048, though 6 blocks would fit";
  EXPECT_EQ(events("X", "kernel").at(0).at("args").at("shared memory"), 1024);
  EXPECT_EQ(events("X", "kernel").at(0).at("args").at("context"), 1);
  EXPECT_EQ(events("X", "kernel").at(1).at("args").at("graph id"), 9);
}

TEST_F(Written, NoMoreBlocksAreResidentThanFit) {
  DeviceActivity activity = small_run();
  std::get<KernelShape>(activity.work[1].shape).grid = {132 * 100, 1, 1};
  EXPECT_EQ(written(activity).gpu[1].occupancy_percent, 75) << "6 blocks of 256 threads of 2048";
}

TEST_F(Written, ASetThatTookNoTimeHasNoBandwidth) {
  DeviceActivity activity = small_run();
  activity.work[4].end_ns = activity.work[4].start_ns;
  const Trace trace = written(activity);
  EXPECT_EQ(trace.problems.count, 0U);
  EXPECT_EQ(trace.gpu[4].bandwidth_gb_s, -1);
}

TEST_F(Written, ArrowsLeadFromEachCallToItsWork) {
  written(small_run());
  const std::vector<Json> starts = events("s", "ac2g"), ends = events("f", "ac2g");
  ASSERT_EQ(starts.size(), 4U) << "one of the graph's launch, though it launched two kernels";
  ASSERT_EQ(ends.size(), 5U);
  EXPECT_EQ(starts[0].at("id"), 1);
  EXPECT_EQ(starts[0].at("pid"), 4711);
  EXPECT_EQ(starts[0].at("tid"), 42);
  EXPECT_EQ(starts[0].at("ts"), 1);
  EXPECT_EQ(ends[0].at("tid"), 7);
  EXPECT_EQ(ends[0].at("ts"), 10);
  EXPECT_EQ(ends[0].at("bp"), "e");
}

// PyTorch's function takes processes labelled "GPU", with annotations.
TEST_F(Written, TheSeedsUtilizationIsTheUnionOfTheWork) {
  const Trace trace = written(small_run());
  constexpr double kLengthS = 100e-6;
  const PyTorchUtilization seed = pytorch_utilization(trace, kLengthS);
  const double busy_us = 2.048 + (45.25 - 20) + 1 + 0.001;
  EXPECT_NEAR(seed.utilization, busy_us / 100, 1e-9);
  EXPECT_NEAR(seed.mm_conv_utilization, 15.25 / 100, 1e-9) << "of what is named gemm";
}

TEST_F(Written, EveryAnalysisOfDevicesReadsIt) {
  const Trace trace = written(small_run());
  const DataTable devices = table_of(run_analysis("utilization", trace), "devices");
  expect_row(devices, 0, {{"name", "NVIDIA H200"}, {"busy_ns", 2'048 + 25'250 + 1'000 + 1}});
  for (const char* name : {"kernels", "launch", "summary", "overlap", "idle", "steps", "queue", "validate"})
    EXPECT_NO_THROW(run_analysis(name, trace)) << name;
}

TEST_F(Written, CallsOfTheDriverWithinTheRuntimeAreTheRuntimes) {
  DeviceActivity activity = small_run();
  ApiCall within = call("cuLaunchKernel", 2, 6, 7), own = call("cuLaunchKernel", 6, 91, 95);
  ApiCall elsewhere = call("cuStreamQuery", 7, 20, 30);
  within.is_driver = own.is_driver = elsewhere.is_driver = true;
  elsewhere.thread = 43;
  activity.calls.insert(activity.calls.begin(), {own, within, elsewhere});
  written(activity);
  const std::vector<Json> driver = events("X", "cuda_driver");
  ASSERT_EQ(driver.size(), 2U);
  EXPECT_EQ(driver[0].at("name"), "cuStreamQuery") << "another thread's wait does not enclose it";
  EXPECT_EQ(driver[1].at("args").at("correlation"), 6);
  EXPECT_EQ(events("X", "cuda_runtime").size(), 5U);
}

TEST_F(Written, DroppedRecordsAreSaid) {
  DeviceActivity activity = small_run();
  written(activity);
  EXPECT_EQ(json().at("dropped_records"), 0);
  EXPECT_EQ(events("i", "").size(), 0U);
  activity.dropped_records = 12;
  written(activity);
  EXPECT_EQ(json().at("dropped_records"), 12);
  EXPECT_EQ(events("i", "").at(0).at("name"), "12 records of the device were dropped");
  const Problems problems = read(file).problems;
  EXPECT_EQ(problems.count, 1U);
  EXPECT_THAT(problems.first.at(0).what, HasSubstr("12 records were dropped"));
}

TEST_F(Written, PackedWhereTheNameSaysSo) {
  const std::filesystem::path packed = file.string() + ".gz";
  write_device_activity(packed, small_run());
  EXPECT_EQ(read_file(packed).substr(0, 2), "\x1f\x8b");
  EXPECT_EQ(read(packed, {}).gpu.size(), 5U);
  std::filesystem::remove(packed);
}

TEST_F(Written, AFileThatCannotBeWrittenIsNamed) {
  write_device_activity(file, small_run());
  EXPECT_THAT(test::message_of([&] { write_device_activity(file / "below.json", small_run()); }),
              HasSubstr("below.json"));
}

class FakeRecorder : public Recorder {
 public:
  explicit FakeRecorder(std::vector<std::string>& log) : log_(log) {}
  std::filesystem::path file;  ///< if set, writes a file
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
  EXPECT_THAT(log, ElementsAre("reset", "run", "sync",                                  // warm-up
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
  EXPECT_THAT(log, Not(Contains("start")));
}

}  // namespace
}  // namespace headroom::trace
