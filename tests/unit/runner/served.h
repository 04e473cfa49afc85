// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>

#include "headroom/base/json.h"
#include "headroom/experiment/registry.h"
#include "headroom/process/channel.h"
#include "headroom/runner/protocol.h"
#include "headroom/runner/serve.h"
#include "sample_experiments.h"

namespace headroom {

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
    EXPECT_EQ(ours_.read_line(line, std::chrono::milliseconds(10'000)), Channel::Status::kLine);
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
  bool has_ended() {
    std::string line;
    return ours_.read_line(line, std::chrono::milliseconds(10'000)) == Channel::Status::kClosed;
  }
  void hang_up() { ours_ = Channel(-1); }
  std::string error_of(const std::string& line) { return json_string(said(line), "error", "reply"); }

  Registry registry_;
  Channel ours_;
  Hello hello_;
  std::thread runner_;
};

}  // namespace headroom
