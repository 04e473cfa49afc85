// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/command_journal.h"

#include <gmock/gmock.h>

#include <memory>
#include <string>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/command/command_records.h"
#include "headroom/record/codec.h"

namespace headroom {
namespace {

std::string text_of(const CommandGroup& group) {
  return to_json_text(command_records(group, std::make_shared<Environment>()));
}

TEST(CommandJournal, WhatIsReadAfterEachRoundMakesTheSameRecords) {
  CommandGroup group, replayed;
  group.commands.resize(2);
  group.commands[0].planned = {.name = "a {x}", .title = "a 1", .line = "./a 1", .parameters = {{"x", "1"}}};
  group.commands[1].planned = {.name = "b", .title = "b", .line = "./b"};
  group.commands[1].notes = {"it was slow to start"};
  std::size_t lines = 0;
  CommandJournal journal([&](const Json& line) {
    ++lines;
    EXPECT_TRUE(replay(parse_json(dump_json(line), "line"), replayed));
  });
  for (std::uint32_t round = 0; round < 30; ++round) {
    for (CommandTrack& track : group.commands) {
      if (!track.alive()) continue;
      CommandSample sample{.round = round, .exit_code = round % 2 == 0 ? 0 : -11, .wall_ns = 1e6 + round};
      sample.peak_rss_bytes = 5'000'000;
      sample.counters = {std::nullopt, 7.0, 8.0, std::nullopt};
      track.samples.push_back(sample);
    }
    if (round == 3) group.commands[0].peak_rss_floor_bytes = 4'000'000;
    if (round == 20) group.commands[1].outcome = {Outcome::Kind::kFailed, "exit code 3"};
    journal.note(group);
    ASSERT_EQ(text_of(replayed), text_of(group));
  }
  EXPECT_EQ(lines, 30U + 3U);
}

TEST(CommandJournal, LinesThatAreOfNoCommandsAreRefused) {
  CommandGroup group;
  EXPECT_FALSE(replay(Json{{"else", 1}}, group));
  for (const char* text : {R"({"samples":5})", R"({"samples":[5]})", R"({"samples":[[0,{}]]})",
                           R"({"commands":5})", R"({"commands":[{}]})"}) {
    EXPECT_THROW(replay(parse_json(text, "line"), group), Error) << text;
  }
}

}  // namespace
}  // namespace headroom
