// SPDX-License-Identifier: Apache-2.0
#include "headroom/history/history_table.h"

#include <fmt/format.h>

#include <ctime>
#include <utility>

#include "headroom/history/last_change.h"
#include "headroom/report/interval_json.h"

namespace headroom {
namespace {

std::string revision_text(const std::string& sha, const std::string& branch) {
  constexpr std::size_t kDigits = 12;
  if (sha.empty()) return "-";
  return sha.substr(0, kDigits) + (branch.empty() ? "" : " " + branch);
}

std::string machine_text(const std::string& fingerprint) {
  return fingerprint.empty() ? "(unknown)" : fingerprint;
}

}  // namespace

std::string format_utc(std::uint64_t seconds) {
  if (seconds == 0) return "(unknown)";
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  if (::gmtime_r(&time, &parts) == nullptr) return "(unknown)";
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min);
}

Table runs_table(const std::vector<StoredRun>& runs) {
  Table table({{"run", Align::kRight},
               {"time (UTC)"},
               {"machine", Align::kLeft, ""},
               {"git"},
               {"results", Align::kRight},
               {"command"}});
  for (const StoredRun& run : runs) {
    constexpr std::size_t kLongestCommand = 60;
    std::string command = run.command;
    if (command.size() > kLongestCommand) command = command.substr(0, kLongestCommand - 3) + "...";
    table.row({fmt::format("@{}", run.id), format_utc(run.time), machine_text(run.fingerprint),
               revision_text(run.git_sha, run.git_branch), fmt::format("{}", run.records), command});
  }
  return table;
}

Json runs_json(const std::vector<StoredRun>& runs) {
  Json list = Json::array();
  for (const StoredRun& run : runs) {
    list.push_back({{"id", run.id},
                    {"time", run.time},
                    {"fingerprint", run.fingerprint},
                    {"git_sha", run.git_sha},
                    {"git_branch", run.git_branch},
                    {"git_repo", run.git_repo},
                    {"headroom_version", run.headroom_version},
                    {"command", run.command},
                    {"records", run.records}});
  }
  return list;
}

Table series_table(std::span<const SeriesStory> stories) {
  Table table({{"series", Align::kRight},
               {"name"},
               {"metric"},
               {"unit"},
               {"machine", Align::kLeft, ""},
               {"values", Align::kRight},
               {"last (UTC)"},
               {"changed (UTC)"},
               {"by"}});
  for (const SeriesStory& story : stories) {
    const StoredSeries& one = story.series;
    std::vector<std::string> cells{fmt::format("{}", one.id),
                                   one.name,
                                   one.metric,
                                   one.unit,
                                   machine_text(one.fingerprint),
                                   fmt::format("{}", story.values.size()),
                                   story.values.empty() ? "-" : format_utc(story.values.back().time)};
    if (const auto change = last_change(story)) {
      cells.push_back(
          fmt::format("{}{} @{}", change->drifts ? "since " : "", format_utc(change->time), change->run));
      cells.push_back(last_change_text(story, *change));
    } else {
      const bool enough = change_critical(story.values.size(), ChangeLevel::kCertain).has_value();
      cells.insert(cells.end(), {enough ? "never" : "-", enough ? "" : "too few values"});
    }
    table.row(std::move(cells));
  }
  return table;
}

Json series_list_json(std::span<const SeriesStory> stories) {
  Json list = Json::array();
  for (const SeriesStory& story : stories) {
    const StoredSeries& one = story.series;
    const auto& values = story.values;
    Json json{{"id", one.id},
              {"name", one.name},
              {"metric", one.metric},
              {"unit", one.unit},
              {"fingerprint", one.fingerprint},
              {"identity", one.identity},
              {"values", values.size()},
              {"first_time", values.empty() ? 0 : values.front().time},
              {"last_time", values.empty() ? 0 : values.back().time},
              {"last_change", nullptr}};
    if (const auto change = last_change(story)) {
      Json told{{"run", change->run}, {"time", change->time}, {"drifts", change->drifts}};
      if (change->ratio) {
        told["ratio"] = *change->ratio;
        told["ratio_interval"] = interval_json(change->interval);
        told["verdict"] = change->worse ? "worse" : "better";
      }
      json["last_change"] = std::move(told);
    }
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace headroom
