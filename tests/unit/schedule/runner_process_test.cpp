// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "../error_message.h"
#include "headroom/base/json.h"
#include "headroom/schedule/plan.h"
#include "headroom/schedule/runner.h"
#include "headroom/schedule/session.h"

namespace headroom {
namespace {

using std::chrono::milliseconds;
using namespace testing;

constexpr const char* kHello = R"(echo '{"headroom_runner":"fake","protocol":1,"version":"1"}' >&3)";

/// Each writes its process number next to itself.
class RunnerProcesses : public testing::Test {
 protected:
  RunnerProcesses() {
    char name[] = "/tmp/headroom-runner-XXXXXX";
    folder = mkdtemp(name);
  }
  ~RunnerProcesses() override {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() != ".pid") continue;
      pid_t pid = 0;
      std::ifstream(entry.path()) >> pid;
      EXPECT_FALSE(std::filesystem::exists("/proc/" + std::to_string(pid))) << "a process is left";
    }
    std::filesystem::remove_all(folder);
  }

  RunnerCommand script(const std::string& name, const std::string& body) {
    const auto path = folder / name;
    std::ofstream(path) << "#!/bin/sh\necho $$ > " << path.string() << ".pid\n" << body << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return {path.string(), milliseconds(5000), milliseconds(5000)};
  }
  std::string start_error(const RunnerCommand& command) {
    return test::message_of([&] { const RunnerProcess process(command, interrupted); });
  }
  std::string lost_by(const std::string& body, milliseconds timeout = milliseconds(5000)) {
    RunnerCommand command = script("runner", std::string(kHello) + "\n" + body);
    command.reply_timeout = timeout;
    RunnerProcess process(command, interrupted);
    EXPECT_EQ(process.hello().name, "fake");
    try {
      process.prepare(1, {});
    } catch (const RunnerLost& lost) {
      return lost.reason;
    }
    return "answered";
  }

  std::filesystem::path folder;
  std::atomic<bool> interrupted = false;
};

TEST_F(RunnerProcesses, WhatIsNotARunnerIsSaidPlainly) {
  EXPECT_THAT(start_error({"/bin/true"}),
              AllOf(HasSubstr("'/bin/true' is not a headroom runner"), HasSubstr("it ended with exit code 0"),
                    HasSubstr("headroom::runner")));
  EXPECT_THAT(start_error({"/no/such/runner"}), HasSubstr("/no/such/runner"));
  EXPECT_THAT(start_error(script("fails", "echo no licence >&2; exit 3")),
              AllOf(HasSubstr("exit code 3"), HasSubstr("its last output: no licence")));
  EXPECT_THAT(start_error(script("garbage", "echo garbage >&$HEADROOM_FD; sleep 100")),
              AllOf(HasSubstr("garbage' is not a headroom runner"), HasSubstr("its greeting: not JSON")));
  EXPECT_THAT(start_error(script("odd", "echo '{\"x\":1}' >&3; sleep 100")),
              HasSubstr("headroom_runner: missing"));
}

TEST_F(RunnerProcesses, ArgumentsAreHandedOverAndWhatRefusesThemIsQuoted) {
  RunnerCommand command = script("refuses", R"(echo "{\"error\":\"$* is no module\"}" >&3; sleep 100)");
  command.arguments = {"--module", "x.pt"};
  EXPECT_EQ(start_error(command), "--module x.pt is no module");
}

TEST_F(RunnerProcesses, WhetherItCanTraceIsInItsGreetingAndMayBeAbsent) {
  const std::string loop =
      "\nwhile read line <&3; do case $line in *quit*) exit;; *) echo '{\"untraced\":\"full\"}' >&3;; esac; "
      "done";
  RunnerProcess silent(script("silent", kHello + loop), interrupted);
  EXPECT_FALSE(silent.hello().traces);
  RunnerProcess tracing(
      script("tracing",
             R"(echo '{"headroom_runner":"t","protocol":1,"version":"1","traces":true}' >&3)" + loop),
      interrupted);
  EXPECT_TRUE(tracing.hello().traces);
  EXPECT_EQ(tracing.trace(1, "/x.json"), "full");
}

TEST_F(RunnerProcesses, ItsDevicesAreThoseThatItDescribes) {
  RunnerProcess runner(script("devices", std::string(kHello) + R"(
while read line <&3; do case $line in
  *describe*) echo '{"experiments":[],"devices":[{"name":"first"},{"name":"second"}]}' >&3;;
  *) exit;;
esac; done)"),
                       interrupted);
  const std::vector<DeviceDescription> devices = runner.describe().devices;
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(devices.back().name, "second");
}

TEST_F(RunnerProcesses, AnotherProtocolVersionIsRefused) {
  EXPECT_THAT(start_error(script(
                  "new", R"(echo '{"headroom_runner":"x","protocol":99,"version":"9"}' >&3; sleep 100)")),
              AllOf(HasSubstr("speaks protocol 99"), HasSubstr("speaks 1"), HasSubstr("rebuild")));
}

TEST_F(RunnerProcesses, OneThatNeverGreetsIsEnded) {
  RunnerCommand command = script("sleeper", "sleep 100");
  command.hello_timeout = milliseconds(100);
  EXPECT_THAT(start_error(command), HasSubstr("did not answer within 0.1 s"));
}

TEST_F(RunnerProcesses, OneThatDiesSaysHow) {
  EXPECT_THAT(
      lost_by("read line <&3; echo first >&2; echo last >&2; kill -SEGV $$"),
      AllOf(HasSubstr("was killed by signal 11"), HasSubstr("first | last"), Not(HasSubstr("memory"))));
  EXPECT_THAT(lost_by("read line <&3; kill -KILL $$"), HasSubstr("perhaps out of memory"));
  EXPECT_THAT(lost_by("exit 4"), AllOf(HasSubstr("ended with exit code 4"), Not(HasSubstr("memory"))));
}

TEST_F(RunnerProcesses, OneThatHangsIsEnded) {
  EXPECT_THAT(lost_by("sleep 100", milliseconds(100)), HasSubstr("did not answer within 0.1 s"));
}

TEST_F(RunnerProcesses, OneThatBreaksTheProtocolIsLost) {
  EXPECT_THAT(lost_by("read line <&3; echo '{}' >&3; sleep 100"),
              AllOf(HasSubstr("broke the protocol"), HasSubstr("outcome")));
  EXPECT_THAT(lost_by("read line <&3; echo 'nonsense' >&3; sleep 100"), HasSubstr("not JSON"));
  EXPECT_THAT(lost_by("read line <&3; echo '{\"error\":\"no such thing\"}' >&3; sleep 100"),
              HasSubstr("refused prepare: no such thing"));
}

TEST_F(RunnerProcesses, WhatItPrintsIsNoAnswer) {
  EXPECT_EQ(lost_by("head -c 300000 /dev/zero; echo '{}'; read line <&3;"
                    "echo '{\"outcome\":\"skipped\",\"reason\":\"x\"}' >&3; read line <&3"),
            "answered");
}

TEST_F(RunnerProcesses, AnInterruptEndsTheWait) {
  interrupted = true;
  EXPECT_THROW(RunnerProcess(script("sleeper", "sleep 100"), interrupted), Interrupted);
}

TEST_F(RunnerProcesses, ARunnerThatHasNotAnsweredByTheDeadlineIsEnded) {
  const double begin_ns = steady_now_ns();
  EXPECT_THROW(RunnerProcess(script("sleeper", "sleep 100"), interrupted, begin_ns + 3e8), OutOfTime);
  EXPECT_THROW(start_runner(script("sleeper", "sleep 100"), interrupted, begin_ns), OutOfTime);
  EXPECT_LT(steady_now_ns() - begin_ns, 60e9);
}

TEST_F(RunnerProcesses, AFleetLabelsAndRestarts) {
  const std::string serving =
      std::string(kHello) + "\nread line <&3\necho '{\"experiments\":[]}' >&3\nread line <&3\n";
  RunnerFleet fleet(interrupted);
  const RunnerCommand a = script("a", serving);
  fleet.add(a, false);
  EXPECT_EQ(fleet.offers().at(0).label, "fake");
  fleet.add(script("b", serving), true);
  EXPECT_EQ(fleet.offers().at(0).label, "fake");
  EXPECT_EQ(fleet.offers().at(1).label, (folder / "b").string());
  fleet.add(a, false);
  EXPECT_EQ(fleet.offers().at(0).label, a.path);
  EXPECT_EQ(fleet.offers().at(2).label, a.path + "#2");
  EXPECT_TRUE(fleet.offers().at(1).only_limits);

  EXPECT_GT(fleet.start_ns(0), 0);
  fleet.renew(0);
  std::filesystem::rename(a.path, a.path + ".away");
  const std::int64_t before = fleet.at(0).pid();
  std::filesystem::rename(a.path + ".away", a.path);
  EXPECT_EQ(fleet.at(0).pid(), before);
  fleet.stop(0);
  EXPECT_NE(fleet.at(0).pid(), before);
  fleet.renew(0);
  std::filesystem::remove(a.path);
  EXPECT_THROW(fleet.at(0), RunnerLost);
}

TEST_F(RunnerProcesses, AFleetRefusesOneThatCannotSayWhatItOffers) {
  RunnerFleet fleet(interrupted);
  try {
    fleet.add(script("mute", std::string(kHello) + "\nread line <&3\necho '{}' >&3\nsleep 100"), false);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("mute did not list its experiments"), HasSubstr("experiments")));
  }
}

struct RecordedGroups : Observer {
  void progress(const Progress& progress) override {
    const std::string place = std::to_string(progress.group) + "/" + std::to_string(progress.groups);
    if (places.empty() || places.back() != place) places.push_back(place);
  }
  void finished(const std::vector<Record>& records) override {
    for (const Record& record : records) reasons.push_back(record.outcome.reason);
    sizes.push_back(records.size());
  }

  std::vector<std::string> places, reasons;
  std::vector<std::size_t> sizes;
};

/// Skips both cases of "copy" (64 and 128 bytes).
std::string skipping_runner() {
  ExperimentDescription copy;
  copy.name = "copy";
  copy.axes = {Axis{"bytes", Axis::Kind::kInteger, {"64", "128"}}};
  copy.backends = {"b"};
  return std::string(kHello) +
         "\nwhile read line <&3; do case $line in *describe*) echo '{\"experiments\":[" +
         dump_json(to_json(copy)) +
         R"(]}' >&3;; *prepare*) echo '{"outcome":"skipped","reason":"odd"}' >&3;; )" +
         "*) exit;; esac; done";
}

TEST_F(RunnerProcesses, ARunnerThatDoesNotStartInTimeIsARowBesideThoseOfTheOthers) {
  SessionRequest request;
  request.runners = {script("late", "exec sleep 100"), script("skips", skipping_runner())};
  request.runners[0].hello_timeout = std::chrono::minutes(1);
  request.selection.names = {"copy"};
  request.run_time_ns = 8e9;
  Session session(request, std::make_shared<const Environment>(), interrupted);
  RecordedGroups told;
  session.run(session.groups(), told);
  EXPECT_THAT(told.reasons, ElementsAre("odd", "odd",
                                        "not reached within --max-time 8.00 s: the runner had not "
                                        "started"));
  request.runners.pop_back();
  request.selection.names.clear();
  request.run_time_ns = 0;
  Session alone(request, std::make_shared<const Environment>(), interrupted);
  EXPECT_THAT(alone.groups(), IsEmpty());
  RecordedGroups row;
  alone.run(alone.groups(), row);
  EXPECT_THAT(row.sizes, ElementsAre(1U));
}

TEST_F(RunnerProcesses, AFirstLookHasATimeForEachGroup) {
  SessionRequest request;
  request.runners = {script("skips", skipping_runner())};
  request.group_time = {0, 0, "--quick"};
  Session session(request, std::make_shared<const Environment>(), interrupted);
  RecordedGroups told;
  session.run(session.groups(), told);
  EXPECT_THAT(told.reasons,
              ElementsAre(HasSubstr("of --quick (--max-time gives more)"), HasSubstr("not reached")));
}

TEST_F(RunnerProcesses, ASessionHandsTheCompleteRecordsOfEachGroupToItsObserver) {
  SessionRequest request;
  request.runners = {script("skips", skipping_runner())};
  Session session(request, std::make_shared<const Environment>(), interrupted);
  RecordedGroups told;
  session.run(session.groups(), told, [](std::vector<Record>& records) {
    for (Record& record : records) record.outcome.reason += ", completed";
  });
  EXPECT_THAT(told.places, ElementsAre("0/2", "1/2"));
  EXPECT_THAT(told.sizes, ElementsAre(1U, 1U));
  EXPECT_THAT(told.reasons, Each("odd, completed"));
}

TEST(BlasEnvironment, IsTheSameObjectWhereNoRunnerTellsOfOne) {
  const auto environment = std::make_shared<const Environment>();
  EXPECT_EQ(environment_with_blas(environment, {RunnerOffer{}}), environment);
  EXPECT_EQ(environment_with_blas(nullptr, {RunnerOffer{}}), nullptr);
}

TEST(BlasEnvironment, HasTheBlasOfTheRunnerUnderItsLabel) {
  const auto environment = std::make_shared<const Environment>();
  RunnerOffer offer;
  offer.label = "torch";
  offer.blas = BlasLibrary{"MKL", "2024.2", "/venv/libtorch_cpu.so"};
  const auto completed = environment_with_blas(environment, {RunnerOffer{}, offer});
  EXPECT_EQ(completed->dependencies.at("BLAS").extra_info.at("runner"), "torch");
  EXPECT_EQ(completed->dependencies.at("BLAS").version, "2024.2");
  EXPECT_TRUE(environment->dependencies.empty()) << "the one that was given stays as it is";
}

TEST(DeviceEnvironment, IsTheSameObjectWhereNoRunnerHasADevice) {
  const auto environment = std::make_shared<const Environment>();
  EXPECT_EQ(environment_with_devices(environment, {RunnerOffer{}}), environment);
  EXPECT_EQ(environment_with_devices(nullptr, {RunnerOffer{}}), nullptr);
}

TEST(DeviceEnvironment, TheMachineHasTheGpusOfTheRunnerThatTellsOfThem) {
  auto environment = std::make_shared<Environment>();
  environment->fingerprint = "zen4-2c-1";
  environment->machines.resize(1);
  environment->machines[0].name = "cpu";
  RunnerOffer offer;
  offer.devices.resize(2);
  for (DeviceDescription& device : offer.devices) {
    device.name = "NVIDIA H200";
    device.memory_bytes = std::int64_t{140} << 30;
  }
  offer.devices[0].driver = "580.95.05";
  offer.devices[0].l2_bytes = 60 << 20;
  offer.devices[0].power_limit_w = 700;
  const auto completed = environment_with_devices(environment, {RunnerOffer{}, offer});
  EXPECT_EQ(completed->fingerprint, "zen4-2c-1");
  const Environment::Runner& machine = completed->machines.at(0);
  EXPECT_EQ(machine.name, "cpu");
  EXPECT_EQ(machine.gpu_info, "NVIDIA H200");
  EXPECT_EQ(machine.gpu_count, 2U);
  EXPECT_EQ(machine.gpu_mem_info, "140 GiB");
  EXPECT_EQ(machine.avail_gpu_mem_in_gb, 280U);
  EXPECT_EQ(machine.extra_info.at("gpu_driver"), "580.95.05");
  EXPECT_EQ(machine.extra_info.at("gpu_l2"), "60 MiB");
  EXPECT_EQ(machine.gpu_l2_bytes, 60 << 20);
  EXPECT_EQ(machine.extra_info.at("gpu_power_limit_w"), "700");
  EXPECT_FALSE(machine.extra_info.contains("gpu_mig")) << "nobody told";
  EXPECT_EQ(environment->machines[0].gpu_count, 0U) << "the one that was given stays as it is";
}

PlannedCase planned(const std::string& experiment, const std::string& backend, std::size_t runner = 0) {
  PlannedCase made;
  made.runner = runner;
  made.spec.experiment = experiment;
  made.spec.backend = backend;
  return made;
}

RunnerOffer offer(const std::string& label, bool only_limits = false) {
  ExperimentDescription gemv;
  gemv.name = "gemv";
  return {label, {gemv}, only_limits, true};
}

TEST(TraceFile, IsNamedAfterTheCaseAndItsBackend) {
  EXPECT_EQ(trace_file("/t", "gemv D=1024 dtype=bf16", planned("gemv", "aten"), {offer("torch")}),
            "/t/gemv_D=1024_dtype=bf16.aten.json");
}

TEST(TraceFile, NamesTheRunnerWhereSeveralHaveTheExperiment) {
  const std::vector<RunnerOffer> offers{offer("old/torch"), offer("new/torch"), offer("native", true)};
  EXPECT_EQ(trace_file("/t", "gemv", planned("gemv", "aten", 1), offers), "/t/gemv.aten@new_torch.json");
  EXPECT_EQ(trace_file("/t", "gemv", planned("gemv", "aten"), {offer("torch"), offer("native", true)}),
            "/t/gemv.aten.json");
}

TEST(TraceFile, LeavesTheFolderAndTheFileSystemAlone) {
  EXPECT_EQ(trace_file("/t", "module input=f32[2,3]", planned("module", "../../etc/x"), {offer("torch")}),
            "/t/module_input=f32_2,3_..._.._etc_x.json");
  EXPECT_EQ(trace_file("/t", "..", planned("x", ""), {offer("torch")}).substr(0, 4), "/t/_");
}

TEST(TraceFile, LongNamesAreCutAndStayApart) {
  const std::string inputs(400, 'f');
  const std::string one = trace_file("/t", inputs + "1", planned("x", "a"), {offer("torch")});
  const std::string two = trace_file("/t", inputs + "2", planned("x", "a"), {offer("torch")});
  EXPECT_LT(one.size(), 210U);
  EXPECT_NE(one, two);
  EXPECT_EQ(one, trace_file("/t", inputs + "1", planned("x", "a"), {offer("torch")}));
}

}  // namespace
}  // namespace headroom
