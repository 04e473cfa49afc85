// SPDX-License-Identifier: Apache-2.0
#include "headroom/runner/serve.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstdlib>
#include <thread>

#include "headroom/base/error.h"
#include "headroom/runner/protocol.h"
#include "sample_experiments.h"

namespace headroom {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;

/// A runner on a thread, and our end of its socket.
class Served : public testing::Test {
 protected:
  Served() : Served(Channel::pair()) {}
  explicit Served(std::pair<Channel, Channel> ends)
      : registry_(sample_registry()),
        ours_(std::move(ends.first)),
        runner_([this, theirs = std::move(ends.second)]() mutable {
          serve(std::move(theirs), registry_, "sample");
        }) {
    hello_ = hello_from_json(next());
  }
  ~Served() override {
    hang_up();
    if (runner_.joinable()) runner_.join();
    EXPECT_EQ(Living::count, 0);
  }

  Json next() {
    std::string line;
    EXPECT_EQ(ours_.read_line(line, milliseconds(10'000)), Channel::Status::kLine);
    return parse_json(line, "reply");
  }
  Json said(const std::string& line) {
    EXPECT_TRUE(ours_.write_line(line));
    return next();
  }
  Json ask(const Json& request) { return said(dump_json(request)); }
  Json prepare(int id, const std::string& how) {
    return ask({{"do", "prepare"}, {"case", id}, {"spec", to_json(behaving(how))}});
  }
  Json sample(int id, std::uint64_t iterations) {
    return ask({{"do", "sample"}, {"case", id}, {"iterations", iterations}, {"lead_in", 0}});
  }
  void hang_up() { ours_ = Channel(-1); }
  std::string error_of(const std::string& line) { return json_string(said(line), "error", "reply"); }

  Registry registry_;
  Channel ours_;
  Hello hello_;
  std::thread runner_;
};

TEST_F(Served, GreetsAndDescribes) {
  EXPECT_EQ(hello_.name, "sample");
  EXPECT_EQ(hello_.protocol, kProtocolVersion);
  const Json reply = ask({{"do", "describe"}});
  ASSERT_EQ(reply.at("experiments").size(), 1U);
  EXPECT_EQ(description_from_json(reply.at("experiments")[0]).summary, "as told");
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

TEST_F(Served, EndsWhenToldTo) {
  prepare(1, "well");
  EXPECT_TRUE(ours_.write_line(R"({"do": "quit"})"));
  runner_.join();
  std::string line;
  EXPECT_EQ(ours_.read_line(line, milliseconds(10'000)), Channel::Status::kClosed);
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
