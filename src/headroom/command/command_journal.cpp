// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/command_journal.h"

#include "headroom/base/json_codec.h"
#include "headroom/record/outcome_json.h"

namespace headroom {

template <>
struct JsonMembers<CommandSample> {
  using S = CommandSample;
  static constexpr std::tuple kTable{required("round", &S::round),
                                     required("exit_code", &S::exit_code).at_least(-255),
                                     required("wall_ns", &S::wall_ns),
                                     required("user_ns", &S::user_ns),
                                     required("system_ns", &S::system_ns),
                                     required("steal_ms", &S::steal_ms),
                                     required("peak_rss_bytes", &S::peak_rss_bytes),
                                     required("page_faults", &S::page_faults),
                                     required("major_faults", &S::major_faults),
                                     required("context_switches", &S::context_switches),
                                     required("involuntary_switches", &S::involuntary_switches),
                                     sparse("counters", &S::counters)};
};

/// What the records of a command say of it.
template <>
struct JsonMembers<PlannedCommand> {
  using P = PlannedCommand;
  static constexpr std::tuple kTable{required("name", &P::name), required("title", &P::title),
                                     required("line", &P::line), required("parameters", &P::parameters)};
};

/// All of it but its samples, which have lines of their own.
template <>
struct JsonMembers<CommandTrack> {
  using T = CommandTrack;
  static constexpr std::tuple kTable{required("planned", &T::planned), required("outcome", &T::outcome),
                                     required("peak_rss_floor_bytes", &T::peak_rss_floor_bytes),
                                     sparse("notes", &T::notes)};
};

namespace {

constexpr const char* kCommands = "commands";
constexpr const char* kSamples = "samples";

}  // namespace

void CommandJournal::note(const CommandGroup& group) {
  Shape shape;
  for (const CommandTrack& track : group.commands)
    shape.emplace_back(track.alive(), track.peak_rss_floor_bytes);
  written_.resize(shape.size());
  if (shape != shape_) write_(Json{{kCommands, json_of(group.commands)}});
  shape_ = std::move(shape);

  Json samples = Json::array();
  for (std::size_t i = 0; i < group.commands.size(); ++i) {
    const std::vector<CommandSample>& own = group.commands[i].samples;
    for (; written_[i] < own.size(); ++written_[i])
      samples.push_back(Json::array({i, json_of(own[written_[i]])}));
  }
  if (!samples.empty()) write_(Json{{kSamples, std::move(samples)}});
}

bool replay(const Json& line, CommandGroup& group) {
  const JsonPath root("");
  if (const Json* commands = line.find(kCommands)) {
    auto tracks = json_to<std::vector<CommandTrack>>(*commands, JsonPath(root, kCommands));
    if (tracks.size() == group.commands.size()) {
      for (std::size_t i = 0; i < tracks.size(); ++i)
        tracks[i].samples = std::move(group.commands[i].samples);
    }
    group.commands = std::move(tracks);
    return true;
  }
  const Json* samples = line.find(kSamples);
  if (samples == nullptr) return false;
  const JsonPath path(root, kSamples);
  if (!samples->is_array()) path.expected("an array", *samples);
  for (const Json& entry : *samples) {
    if (!entry.is_array() || entry.size() != 2) path.expected("pairs of a command and its run", entry);
    const auto index = json_to<std::size_t>(entry[0], path);
    if (index >= group.commands.size()) path.refuse("there is no such command");
    group.commands[index].samples.push_back(json_to<CommandSample>(entry[1], path));
  }
  return true;
}

}  // namespace headroom
