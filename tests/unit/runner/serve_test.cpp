// SPDX-License-Identifier: Apache-2.0
#include "headroom/runner/serve.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <thread>

#include "headroom/base/error.h"
#include "headroom/experiment/process_counters.h"
#include "headroom/runner/protocol.h"
#include "headroom/runner/registry_server.h"
#include "sample_experiments.h"
#include "served.h"

namespace headroom {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;

TEST_F(Served, GreetsAndDescribes) {
  EXPECT_EQ(hello_.name, "sample");
  EXPECT_EQ(hello_.protocol, kProtocolVersion);
  const Json reply = ask({{"do", "describe"}});
  ASSERT_EQ(reply.at("experiments").size(), 1U);
  EXPECT_EQ(description_from_json(reply.at("experiments")[0]).summary, "as told");
}

TEST_F(Served, TellsOfDevicesWhereItHasAny) {
  EXPECT_FALSE(ask({{"do", "describe"}}).contains("devices"));
  registry_.describe_devices_with([] {
    std::vector<DeviceDescription> devices(2);
    devices[1].name = "NVIDIA H200";
    return devices;
  });
  const Json reply = ask({{"do", "describe"}});
  ASSERT_EQ(reply.at("devices").size(), 2U);
  EXPECT_EQ(reply.at("devices")[1].at("name"), "NVIDIA H200");
}

TEST_F(Served, PreparesSamplesAndReleasesSeveralCases) {
  EXPECT_EQ(prepare_reply_from_json(prepare(1, "well")).info.work.flops, 8);
  prepare(2, "well");
  EXPECT_EQ(sample_reply_from_json(sample(1, 4)).sample.elapsed_ns, 401);
  EXPECT_EQ(sample_reply_from_json(sample(2, 7)).sample.elapsed_ns, 701);
  EXPECT_EQ(sample_reply_from_json(sample(1, 4)).sample.elapsed_ns, 402);
  EXPECT_EQ(ask({{"do", "release"}, {"case", 1}}).at("released"), 1);
  EXPECT_EQ(Living::count, 1);
  EXPECT_THAT(json_string(sample(1, 1), "error", ""), HasSubstr("not prepared"));
  EXPECT_EQ(sample_reply_from_json(sample(2, 1)).sample.elapsed_ns, 102);
}

TEST_F(Served, PreparingANumberAgainReplacesItsCase) {
  prepare(1, "well");
  sample(1, 1);
  prepare(1, "well");
  EXPECT_EQ(Living::count, 1);
  EXPECT_EQ(sample_reply_from_json(sample(1, 1)).sample.elapsed_ns, 101);
}

TEST_F(Served, TellsHowACaseFailed) {
  EXPECT_EQ(prepare_reply_from_json(prepare(1, "skips")).outcome.kind, Outcome::Kind::kSkipped);
  EXPECT_EQ(prepare_reply_from_json(prepare(2, "throws")).outcome.reason, "boom in prepare");
  EXPECT_THAT(json_string(sample(2, 1), "error", ""), HasSubstr("not prepared"));
  prepare(3, "throws in sample");
  sample(3, 1);
  EXPECT_EQ(sample_reply_from_json(sample(3, 1)).failure, "boom in sample");
}

TEST_F(Served, AnswersWhatItDoesNotUnderstandAndGoesOn) {
  EXPECT_THAT(error_of("{nonsense"), HasSubstr("not JSON"));
  EXPECT_THAT(error_of("[1]"), HasSubstr("expected an object"));
  EXPECT_THAT(error_of("{}"), HasSubstr("request/do"));
  EXPECT_THAT(error_of(R"({"do": 3})"), testing::Not(""));
  EXPECT_THAT(error_of(R"({"do": "dance"})"), HasSubstr("unknown request 'dance'"));
  EXPECT_THAT(error_of(R"({"do": "prepare", "case": 1})"), HasSubstr("spec"));
  EXPECT_THAT(error_of(R"({"do": "sample", "case": 9, "iterations": 1, "lead_in": 0})"),
              HasSubstr("not prepared"));
  CaseSpec unknown = behaving("well");
  unknown.experiment = "missing";
  EXPECT_THAT(error_of(dump_json({{"do", "prepare"}, {"case", 1}, {"spec", to_json(unknown)}})),
              HasSubstr("no experiment 'missing'"));
  prepare(1, "well");
  for (const char* iterations : {"0", "-1", "1.5", "1e30", "\"x\"", "null"}) {
    EXPECT_THAT(error_of(std::string(R"({"do": "sample", "case": 1, "lead_in": 0, "iterations": )") +
                         iterations + "}"),
                HasSubstr("iterations"));
  }
  EXPECT_EQ(sample_reply_from_json(sample(1, 1)).sample.elapsed_ns, 101);
}

TEST_F(Served, ARunnerThatCannotTraceSaysSo) {
  EXPECT_FALSE(hello_.traces);
  prepare(1, "well");
  EXPECT_THAT(json_string(ask({{"do", "trace"}, {"case", 1}, {"file", "/x.json"}}), "untraced", ""),
              HasSubstr("cannot record"));
  EXPECT_EQ(sample_reply_from_json(sample(1, 1)).sample.elapsed_ns, 101);
}

/// Serves `registry` with `arguments`; gives what it says first, and to each request.
std::vector<Json> conversation(Registry& registry, const std::vector<std::string>& arguments,
                               const std::vector<Json>& requests) {
  auto [ours, theirs] = Channel::pair();
  std::thread runner([&registry, &arguments, channel = std::move(theirs)]() mutable {
    serve(std::move(channel), registry, "sample", arguments);
  });
  std::vector<Json> replies;
  std::string line;
  while (ours.read_line(line, milliseconds(10'000)) == Channel::Status::kLine) {
    replies.push_back(parse_json(line, "reply"));
    if (replies.size() > requests.size()) break;
    ours.write_line(dump_json(requests[replies.size() - 1]));
  }
  ours = Channel(-1);
  runner.join();
  return replies;
}

TEST(ServeTraces, OneCallIsRecordedAndTheCaseGoesOn) {
  Registry registry = sample_registry();
  std::vector<std::string> recorded;
  registry.trace_with([&](const std::string& file, const std::function<void()>& run) {
    if (file == "/full/disk") throw Error("no space left");
    run();
    recorded.push_back(file);
  });
  const Json prepare{{"do", "prepare"}, {"case", 1}, {"spec", to_json(behaving("well"))}};
  const Json sample{{"do", "sample"}, {"case", 1}, {"iterations", 1}, {"lead_in", 0}};
  const auto trace = [](int id, const char* file) {
    return Json{{"do", "trace"}, {"case", id}, {"file", file}};
  };
  const auto said = conversation(
      registry, {}, {prepare, trace(1, "/a.json"), trace(1, "/full/disk"), sample, trace(2, "/b.json")});
  ASSERT_EQ(said.size(), 6U);
  EXPECT_TRUE(hello_from_json(said[0]).traces);
  EXPECT_EQ(said[2].at("traced"), "/a.json");
  EXPECT_EQ(said[3].at("untraced"), "no space left");
  EXPECT_EQ(sample_reply_from_json(said[4]).sample.elapsed_ns, 102) << "the second call: one was recorded";
  EXPECT_THAT(json_string(said[5], "error", ""), HasSubstr("not prepared"));
  EXPECT_THAT(recorded, testing::ElementsAre("/a.json"));
}

TEST(ServeTraces, ACallThatThrowsWhileItIsRecordedIsNotRecorded) {
  Registry registry = sample_registry();
  bool written = false;
  registry.trace_with([&](const std::string&, const std::function<void()>& run) {
    run();
    written = true;
  });
  const Json sample{{"do", "sample"}, {"case", 1}, {"iterations", 1}, {"lead_in", 0}};
  const auto said =
      conversation(registry, {},
                   {{{"do", "prepare"}, {"case", 1}, {"spec", to_json(behaving("throws in sample"))}},
                    sample,
                    {{"do", "trace"}, {"case", 1}, {"file", "/a.json"}}});
  ASSERT_EQ(said.size(), 4U);
  EXPECT_EQ(said[3].at("untraced"), "boom in sample");
  EXPECT_FALSE(written);
}

/// In place of hardware: events of the kernel itself, which virtual machines count, too.
constexpr std::array<CounterEvent, 3> kSoftware{{
    {"task_clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
    {"page_faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {"context_switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
}};

TEST(ServeCounts, IterationsOfACaseAreCountedOnItsOwnThreadAndItGoesOn) {
  const ProcessCounters counters(linux_counters(), kSoftware, {});
  if (!counters.any()) GTEST_SKIP() << "the kernel counts nothing here: " << counters.text();
  Registry registry = sample_registry();
  std::uint64_t calls = 0;
  registry.add("spin", [&](State& state) {
    state.measure([&] {
      ++calls;
      const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(200);
      while (std::chrono::steady_clock::now() < end) {
      }
    });
  });
  RegistryServer server(registry, counters);
  CaseSpec spec;
  spec.experiment = "spin";
  server.answer({{"do", "prepare"}, {"case", 1}, {"spec", to_json(spec)}});
  const Json count{{"do", "count"}, {"case", 1}, {"iterations", 10}, {"lead_in", 2}};
  const CountReply counted = count_reply_from_json(server.answer(count));
  EXPECT_EQ(counted.failure, "");
  EXPECT_EQ(calls, 12U) << "the lead-in comes first";
  ASSERT_TRUE(counted.counts.instructions);
  // Time on a CPU: what others took of it is not in it.
  EXPECT_GT(*counted.counts.instructions, 0.2e6) << "ns of task clock";
  EXPECT_LT(*counted.counts.instructions, 100e6);
  const Json sample{{"do", "sample"}, {"case", 1}, {"iterations", 1}, {"lead_in", 0}};
  EXPECT_GT(sample_reply_from_json(server.answer(sample)).sample.elapsed_ns, 2e5);
}

TEST(ServeCounts, WhatCannotBeCountedIsSaid) {
  Registry registry = sample_registry();
  RegistryServer server(registry, ProcessCounters(linux_counters(), {}, {}));
  EXPECT_FALSE(server.counts());
  server.answer({{"do", "prepare"}, {"case", 1}, {"spec", to_json(behaving("throws in sample"))}});
  const auto count = [&](int lead_in) {
    return server.answer({{"do", "count"}, {"case", 1}, {"iterations", 1}, {"lead_in", lead_in}});
  };
  EXPECT_EQ(count_reply_from_json(count(1)).failure, "boom in sample");
  EXPECT_THROW(server.answer({{"do", "count"}, {"case", 1}, {"iterations", 0}, {"lead_in", 0}}), Error);
  EXPECT_THROW(server.answer({{"do", "count"}, {"case", 9}, {"iterations", 1}, {"lead_in", 0}}), Error);
}

TEST(ServeArguments, AreTakenBeforeTheGreeting) {
  Registry registry = sample_registry();
  registry.take_arguments_with([](Registry& to, const std::vector<std::string>& arguments) {
    to.add(arguments.at(0), [](State& state) { state.measure([] {}); });
  });
  const auto said = conversation(registry, {"more"}, {{{"do", "describe"}}});
  ASSERT_EQ(said.size(), 2U);
  EXPECT_EQ(said[1].at("experiments").size(), 2U);
}

TEST(ServeArguments, WhatCannotBeTakenIsSaidInPlaceOfTheGreeting) {
  Registry none = sample_registry();
  auto said = conversation(none, {"--module", "x.pt"}, {});
  ASSERT_EQ(said.size(), 1U);
  EXPECT_THAT(json_string(said[0], "error", ""),
              AllOf(HasSubstr("no arguments"), HasSubstr("--module x.pt")));
  Registry refusing = sample_registry();
  refusing.take_arguments_with(
      [](Registry&, const std::vector<std::string>&) { throw Error("x.pt is broken"); });
  said = conversation(refusing, {"--module", "x.pt"}, {});
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(json_string(said[0], "error", ""), "x.pt is broken");
}

TEST_F(Served, EndsWhenToldTo) {
  prepare(1, "well");
  EXPECT_TRUE(ours_.write_line(R"({"do": "quit"})"));
  runner_.join();
  EXPECT_TRUE(has_ended());
}

TEST_F(Served, EndsWhenTheOtherSideIsGone) {
  prepare(1, "well");
  hang_up();
  runner_.join();
  EXPECT_EQ(Living::count, 0);
}

std::string inherited_error(const char* value) {
  setenv(kSocketVariable, value, 1);
  std::string text = "accepted";
  try {
    inherited_channel();
  } catch (const Error& error) {
    text = error.what();
  }
  unsetenv(kSocketVariable);
  return text;
}

TEST(InheritedChannel, IsTakenOutOfTheEnvironment) {
  unsetenv(kSocketVariable);
  EXPECT_FALSE(inherited_channel());
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  Channel other(ends[1]);
  setenv(kSocketVariable, std::to_string(ends[0]).c_str(), 1);
  auto channel = inherited_channel();
  ASSERT_TRUE(channel);
  EXPECT_EQ(getenv(kSocketVariable), nullptr);
  EXPECT_NE(fcntl(channel->fd(), F_GETFD) & FD_CLOEXEC, 0);
  ASSERT_TRUE(channel->write_line("here"));
  std::string line;
  EXPECT_EQ(other.read_line(line, milliseconds(1000)), Channel::Status::kLine);
  EXPECT_EQ(line, "here");
}

TEST(InheritedChannel, WhatIsNotADescriptorIsRefusedByName) {
  for (const char* value : {"", "x", "-1", "987", "4294967296", "3 "}) {
    EXPECT_THAT(inherited_error(value), AllOf(HasSubstr("HEADROOM_FD="), HasSubstr("unset it"))) << value;
  }
}

}  // namespace
}  // namespace headroom
