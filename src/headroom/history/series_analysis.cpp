// SPDX-License-Identifier: Apache-2.0
#include "headroom/history/series_analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "headroom/base/text.h"
#include "headroom/compare/environment_differences.h"
#include "headroom/record/formats.h"
#include "headroom/record/record_json.h"
#include "headroom/report/metric_text.h"
#include "headroom/report/text_plot.h"
#include "headroom/stats/compare.h"
#include "headroom/stats/quantile.h"
#include "headroom/tables/width.h"

namespace headroom {
namespace {

std::vector<double> numbers_of(const std::vector<StoredValue>& values) {
  std::vector<double> numbers;
  for (const StoredValue& value : values) numbers.push_back(value.value);
  return numbers;
}

/// "git revision: c0ffee -> 0ddba11".
std::vector<std::string> environment_changes(Environment before, Environment after) {
  Record old_record, new_record;
  old_record.environment = std::make_shared<const Environment>(std::move(before));
  new_record.environment = std::make_shared<const Environment>(std::move(after));
  std::vector<std::string> lines;
  for (const EnvironmentDifference& difference :
       environment_differences({&old_record, 1}, {&new_record, 1}).list) {
    lines.push_back(fmt::format("{}: {} -> {}", difference.what, difference.baseline, difference.test));
  }
  return lines;
}

void compare_with_previous(std::span<const double> before, std::span<const double> after,
                           SeriesSegment& segment) {
  const double base = median(before);
  if (base == 0) return;
  segment.ratio = segment.median / base;
  const auto positive = [](double value) { return value > 0; };
  if (std::ranges::all_of(before, positive) && std::ranges::all_of(after, positive)) {
    segment.ratio_interval = unpaired_ratio(after, before).interval;
  }
}

/// The measured command line, for a series of `headroom time` or `ab`; otherwise a placeholder.
std::string command_of(const StoredSeries& series, const Environment& environment) {
  constexpr std::size_t kName = 2;  // of the identity
  const std::vector<std::string>& words = environment.command;
  if (words.size() < 3 || (words[1] != "time" && words[1] != "ab")) return "COMMAND";
  const Json identity = parse_json(series.identity, "the identity of series " + std::to_string(series.id));
  const Json* name = identity.is_array() && identity.size() > kName ? &identity[kName] : nullptr;
  if (name == nullptr || !name->is_string() || contains(name->string(), "{")) return "COMMAND";
  const auto word = std::find(words.begin() + 2, words.end(), name->string());
  // After an option it may be the option's value, such as a name.
  return word == words.end() || std::prev(word)->starts_with('-') ? "COMMAND" : *word;
}

std::string shell_word(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string bisect_call(const std::string& before, const std::string& after, const std::string& command) {
  const auto is_commit = [](const std::string& sha) {
    return sha.size() >= 7 && sha.find_first_not_of("0123456789abcdef") == std::string::npos;
  };
  if (before == after || !is_commit(before) || !is_commit(after)) return {};
  return fmt::format("headroom bisect --git {}..{} --build 'BUILD' {}", before.substr(0, 12),
                     after.substr(0, 12), shell_word(command));
}

constexpr std::size_t kNamed = 3;

/// "a; b; c; and 4 more".
std::string named(std::vector<std::string> texts) {
  if (texts.size() > kNamed) {
    const std::size_t more = texts.size() - kNamed;
    texts.resize(kNamed);
    texts.push_back(fmt::format("and {} more", more));
  }
  return join(texts, "; ");
}

bool is_too_short(const SeriesAnalysis& analysis) {
  return !change_critical(analysis.values.size(), ChangeLevel::kCertain).has_value();
}

std::string series_change(const SeriesAnalysis& analysis, const LastChange& change) {
  return fmt::format("{} {}{} {}", analysis.series.name, analysis.series.metric,
                     change.drifts ? "" : fmt::format(" at @{},", change.run),
                     last_change_text(analysis, change));
}

using Changed = std::pair<const SeriesAnalysis*, LastChange>;

std::vector<Changed> changed_series(std::span<const SeriesAnalysis> analyses) {
  std::vector<Changed> changed;
  for (const SeriesAnalysis& analysis : analyses) {
    if (const auto change = last_change(analysis)) changed.emplace_back(&analysis, *change);
  }
  std::ranges::stable_sort(changed, std::greater<>(), [](const Changed& one) { return one.second.time; });
  return changed;
}

std::vector<std::string> texts_of(const std::vector<Changed>& changed) {
  std::vector<std::string> texts;
  for (const auto& [analysis, change] : changed) texts.push_back(series_change(*analysis, change));
  return texts;
}

/// "; 3 have fewer than the 14 values needed".
std::string too_short_text(std::span<const SeriesAnalysis> analyses) {
  const auto count = std::ranges::count_if(analyses, is_too_short);
  return count == 0 ? "" : fmt::format("; {} have fewer than the 14 values needed", count);
}

std::string revision_text(const std::string& sha, const std::string& branch) {
  constexpr std::size_t kDigits = 12;
  if (sha.empty()) return "-";
  return sha.substr(0, kDigits) + (branch.empty() ? "" : " " + branch);
}

std::string machine_text(const std::string& fingerprint) {
  return fingerprint.empty() ? "(unknown)" : fingerprint;
}

/// Shows a change of a few tenths of a per cent.
std::string level_text(double value) {
  return fmt::format("{:.5g}", value);
}

std::string interval_text(const std::optional<Interval>& interval) {
  if (!interval) return "-";
  return fmt::format("{} .. {}", level_text(interval->low), level_text(interval->high));
}

bool became_worse(const LastChange& change, std::size_t newest) {
  return change.worse && change.values_since <= newest;
}

std::string verdict(const SeriesSegment& segment, Direction direction) {
  if (!segment.ratio) return "";
  return change_word(*segment.ratio, direction);
}

std::string plot_text(const SeriesAnalysis& analysis) {
  std::vector<PlotLine> lines;
  double low = analysis.values.front().value, high = low;
  for (std::size_t i = 0; i < analysis.segments.size(); ++i) {
    const SeriesSegment& segment = analysis.segments[i];
    PlotLine& line = lines.emplace_back(PlotLine{fmt::format("segment {}", i + 1), {}});
    for (std::size_t at = segment.first; at <= segment.last; ++at) {
      const double value = analysis.values[at].value;
      line.points.emplace_back(static_cast<double>(at + 1), value);
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  PlotOptions options;
  options.height = 12;
  options.log_x = false;
  // A linear axis starts at 0 and would hide changes of a few per cent.
  options.log_y = low > 0 && high < 2 * low;
  options.x_label = "value number, in order of time";
  options.y_label = analysis.series.unit;
  return line_plot(lines, options);
}

Table regressions_table(const std::vector<Changed>& worse) {
  Table table(Columns()
                  .right({"series"})
                  .left({"name"})
                  .priority(Priority::kFirst)
                  .shared("metric", Align::kLeft, "")
                  .left({"change", "since", "commit"})
                  .priority(Priority::kNormal)
                  .left({"when (UTC)", "commit before"})
                  .priority(Priority::kLast)
                  .shared("machine", Align::kLeft, ""),
              2);
  for (const auto& [analysis, change] : worse) {
    const std::size_t first = analysis->segments.back().first;
    const std::string before = first == 0 ? "-" : revision_text(analysis->values[first - 1].git_sha, "");
    table.row({fmt::format("{}", analysis->series.id), analysis->series.name, analysis->series.metric,
               last_change_text(*analysis, change), fmt::format("@{}", change.run),
               revision_text(analysis->values[first].git_sha, ""), format_utc(change.time), before,
               machine_text(analysis->series.fingerprint)});
  }
  return table;
}

/// Once each, a line each.
std::string bisect_calls(const std::vector<Changed>& worse) {
  std::string lines;
  for (const auto& [analysis, change] : worse) {
    const std::string& call = analysis->segments.back().bisect;
    if (!call.empty() && !contains(lines, call)) lines += "find the commit: " + call + "\n";
  }
  return lines;
}

Table segments_table(const SeriesAnalysis& analysis) {
  const std::string unit = analysis.series.unit.empty() ? "" : ", " + analysis.series.unit;
  Table table(Columns()
                  .right({"segment"})
                  .left({"runs"})
                  .priority(Priority::kLast)
                  .left({"from (UTC)"})
                  .right({"values"})
                  .priority(Priority::kFirst)
                  .right({"median" + unit})
                  .priority(Priority::kNormal)
                  .left({"95 % interval"})
                  .priority(Priority::kFirst)
                  .left({"change", ""}));
  for (std::size_t i = 0; i < analysis.segments.size(); ++i) {
    const SeriesSegment& segment = analysis.segments[i];
    const StoredValue &first = analysis.values[segment.first], &last = analysis.values[segment.last];
    table.row({fmt::format("{}", i + 1), fmt::format("@{} .. @{}", first.run, last.run),
               format_utc(first.time), fmt::format("{}", segment.last - segment.first + 1),
               level_text(segment.median), interval_text(segment.interval),
               change_text(segment.ratio, segment.ratio_interval),
               verdict(segment, analysis.series.direction)});
    if (segment.drift) table.line("          " + drift_text(segment));
    for (const std::string& change : segment.changes) table.line("          " + change);
    if (i > 0 && segment.changes.empty()) table.line("          no change in the recorded environment");
  }
  return table;
}

Json segment_json(const SeriesAnalysis& analysis, const SeriesSegment& segment) {
  Json json{{"first_run", analysis.values[segment.first].run},
            {"last_run", analysis.values[segment.last].run},
            {"first", segment.first},
            {"values", segment.last - segment.first + 1},
            {"median", segment.median},
            {"interval", interval_json(segment.interval)}};
  if (segment.drift) json["drift_ratio"] = *segment.drift;
  if (segment.ratio) {
    json["ratio"] = *segment.ratio;
    json["ratio_interval"] = interval_json(segment.ratio_interval);
    json["verdict"] = verdict(segment, analysis.series.direction);
    json["changes"] = segment.changes;
    if (!segment.bisect.empty()) json["bisect"] = segment.bisect;
  }
  return json;
}

std::string changes_answer(const SeriesAnalysis& analysis) {
  if (is_too_short(analysis)) {
    return fmt::format("{} value{} too few to tell a change from noise (14 are needed)",
                       analysis.values.size(), analysis.values.size() == 1 ? " is" : "s are");
  }
  const std::size_t changes = analysis.segments.size() - 1;
  const SeriesSegment& last = analysis.segments.back();
  std::string drift;
  if (last.drift) {
    drift = fmt::format("{}, {}", drift_text(last), change_word(*last.drift, analysis.series.direction));
  }
  if (changes == 0 && last.drift) return drift;
  if (changes == 0) return fmt::format("no change found in {} values", analysis.values.size());
  const std::string count = counted(changes, "change") + " found";
  return fmt::format("{}, the last at @{} ({}): {} {}{}", count, analysis.values[last.first].run,
                     format_utc(analysis.values[last.first].time),
                     change_text(last.ratio, last.ratio_interval), verdict(last, analysis.series.direction),
                     last.drift ? "; since then it " + drift : "");
}

Tone tone_of(std::string_view verdict) {
  if (verdict == "worse") return Tone::kBad;
  return verdict == "better" ? Tone::kGood : Tone::kPlain;
}

Tone changes_tone(const SeriesAnalysis& analysis) {
  if (!analysis.segments.empty() && analysis.segments.back().drift)
    return tone_of(change_word(*analysis.segments.back().drift, analysis.series.direction));
  if (analysis.segments.size() < 2) return Tone::kPlain;
  const std::string last = verdict(analysis.segments.back(), analysis.series.direction);
  return tone_of(last);
}

}  // namespace

SeriesAnalysis series_analysis(StoredSeries series, std::vector<StoredValue> values,
                               const std::function<Environment(std::int64_t)>& environment_of, double least) {
  SeriesAnalysis analysis{std::move(series), std::move(values), {}, {}, {}};
  if (analysis.values.empty()) return analysis;
  const std::vector<double> numbers = numbers_of(analysis.values);
  const std::vector<ChangePoint> changes = change_points(numbers);
  analysis.suspected = suspected_change(numbers, changes);
  const std::vector<SeriesPart> parts = differing_parts(numbers, changes, least);
  analysis.spreads = spread_changes(numbers, parts);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    SeriesSegment segment;
    segment.first = parts[i].begin;
    segment.last = parts[i].end - 1;
    const auto part = std::span(numbers).subspan(parts[i].begin, parts[i].end - parts[i].begin);
    segment.median = median(part);
    segment.interval = series_median_interval(part);
    if (parts[i].drifts && parts[i].first != 0) segment.drift = parts[i].last / parts[i].first;
    if (i > 0) {
      compare_with_previous(
          std::span(numbers).subspan(parts[i - 1].begin, parts[i - 1].end - parts[i - 1].begin), part,
          segment);
      const StoredValue &last = analysis.values[segment.first - 1], &first = analysis.values[segment.first];
      std::string command = "COMMAND";
      if (environment_of) {
        Environment after = environment_of(first.run);
        command = command_of(analysis.series, after);
        segment.changes = environment_changes(environment_of(last.run), std::move(after));
      }
      segment.bisect = bisect_call(last.git_sha, first.git_sha, command);
    }
    analysis.segments.push_back(std::move(segment));
  }
  return analysis;
}

bool is_worse(double ratio, Direction direction) {
  return direction != Direction::kUnknown && (ratio > 1) == (direction == Direction::kLowerIsBetter);
}

const char* change_word(double ratio, Direction direction) {
  if (direction == Direction::kUnknown) return "changed";
  return is_worse(ratio, direction) ? "worse" : "better";
}

std::optional<LastChange> last_change(const SeriesAnalysis& analysis) {
  if (analysis.segments.empty()) return std::nullopt;
  const SeriesSegment& last = analysis.segments.back();
  if (!last.drift && analysis.segments.size() == 1) return std::nullopt;
  const StoredValue& first = analysis.values[last.first];
  LastChange change{first.run, first.time, last.last - last.first + 1, last.drift.has_value(), {}, {}, false};
  if (last.drift) {
    change.ratio = last.drift;
    change.values_since = 1;
  } else {
    change.ratio = last.ratio;
    change.interval = last.ratio_interval;
  }
  change.worse = change.ratio && is_worse(*change.ratio, analysis.series.direction);
  return change;
}

std::string last_change_text(const SeriesAnalysis& analysis, const LastChange& change) {
  const std::string how =
      change.drifts ? drift_text(analysis.segments.back()) + "," : change_text(change.ratio, change.interval);
  if (!change.ratio) return "from 0";
  return how + " " + change_word(*change.ratio, analysis.series.direction);
}

std::string changes_sentence(std::span<const SeriesAnalysis> analyses) {
  const std::vector<Changed> changed = changed_series(analyses);
  if (changed.empty() && std::ranges::all_of(analyses, is_too_short))
    return fmt::format("none of {} series has the 14 values needed to tell a change from noise",
                       analyses.size());
  if (changed.empty())
    return fmt::format("none of {} series changed{}", analyses.size(), too_short_text(analyses));
  return fmt::format("{} of {} series changed: {}", changed.size(), analyses.size(),
                     named(texts_of(changed)));
}

RegressionAnswer regression_answer(std::span<const SeriesAnalysis> analyses, std::size_t newest) {
  std::vector<Changed> worse = changed_series(analyses);
  std::erase_if(worse, [newest](const Changed& one) { return !became_worse(one.second, newest); });
  RegressionAnswer answer;
  if (!worse.empty()) {
    answer.exit = ExitCode::kFailure;
    answer.sentence = fmt::format("{} of {} series became worse within the last {} values: {}", worse.size(),
                                  analyses.size(), newest, named(texts_of(worse)));
  } else if (std::ranges::all_of(analyses, is_too_short)) {
    answer.exit = ExitCode::kInconclusive;
    answer.sentence = "no series has the 14 values needed to tell a change from noise";
  } else {
    answer.sentence = fmt::format("none of {} series became worse within the last {} values{}",
                                  analyses.size(), newest, too_short_text(analyses));
  }
  answer.view.answer(answer.sentence, worse.empty() ? Tone::kPlain : Tone::kBad)
      .table(regressions_table(worse))
      .drawing(bisect_calls(worse));
  answer.json = {
      {"gate", {{"exit", static_cast<int>(answer.exit)}, {"sentence", answer.sentence}, {"last", newest}}},
      {"series", series_list_json(analyses)}};
  for (std::size_t i = 0; i < analyses.size(); ++i) {
    const auto change = last_change(analyses[i]);
    answer.json["series"][i]["verdict"] = change && became_worse(*change, newest) ? "worse"
                                          : is_too_short(analyses[i])             ? "inconclusive"
                                                                                  : "not worse";
  }
  return answer;
}

std::string format_utc(std::uint64_t seconds) {
  if (seconds == 0) return "(unknown)";
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  if (::gmtime_r(&time, &parts) == nullptr) return "(unknown)";
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min);
}

namespace {

/// Without the name of this program, which all have.
std::string command_text(std::string_view command) {
  constexpr std::string_view kProgram = "headroom ";
  constexpr std::size_t kMaxLength = 60;
  if (command.starts_with(kProgram)) command.remove_prefix(kProgram.size());
  return shortened(command, kMaxLength);
}

}  // namespace

bool is_of_trace(const StoredSeries& series) {
  constexpr std::size_t kMode = 1;  // of the identity
  const Json identity = parse_json(series.identity, "the identity of series " + std::to_string(series.id));
  return identity.is_array() && identity.size() > kMode && identity[kMode] == "trace";
}

Table runs_table(const std::vector<StoredRun>& runs, const std::map<std::int64_t, std::size_t>& cases) {
  Table table(Columns()
                  .right({"run"})
                  .priority(Priority::kFirst)
                  .left({"when (UTC)"})
                  .text("command", Cut::kEnd)
                  .left({"git"})
                  .right({"cases"})
                  .priority(Priority::kLast)
                  .right({"results"})
                  .shared("machine", Align::kLeft, ""));
  for (const StoredRun& run : runs) {
    const auto count = cases.find(run.id);
    table.row({fmt::format("@{}", run.id), format_utc(run.time), command_text(run.command),
               revision_text(run.git_sha, run.git_branch),
               count == cases.end() ? "-" : std::to_string(count->second), fmt::format("{}", run.records),
               machine_text(run.fingerprint)});
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

Table series_table(std::span<const SeriesAnalysis> analyses) {
  Table table(Columns()
                  .right({"series"})
                  .left({"name"})
                  .priority(Priority::kFirst)
                  .shared("metric", Align::kLeft, "")
                  .right({"latest", "before", "change"})
                  .priority(Priority::kLast)
                  .right({"values"})
                  .left({"last (UTC)", "changed (UTC)", "by"})
                  .shared("machine", Align::kLeft, ""),
              2);
  for (const SeriesAnalysis& analysis : analyses) {
    const StoredSeries& one = analysis.series;
    const std::vector<StoredValue>& values = analysis.values;
    const auto value = [&](std::size_t from_last) {
      return values.size() < from_last
                 ? "-"
                 : value_text(values[values.size() - from_last].value, one.unit, one.metric);
    };
    std::optional<double> ratio;
    if (values.size() > 1 && values[values.size() - 2].value != 0)
      ratio = values.back().value / values[values.size() - 2].value;
    std::vector<std::string> cells{fmt::format("{}", one.id),
                                   one.name,
                                   one.metric,
                                   value(1),
                                   value(2),
                                   change_text(ratio, {}),
                                   fmt::format("{}", values.size()),
                                   values.empty() ? "-" : format_utc(values.back().time)};
    if (const auto change = last_change(analysis)) {
      cells.push_back(
          fmt::format("{}{} @{}", change->drifts ? "since " : "", format_utc(change->time), change->run));
      cells.push_back(last_change_text(analysis, *change));
    } else {
      const bool too_short = is_too_short(analysis);
      cells.insert(cells.end(), {too_short ? "-" : "never", too_short ? "too few values" : ""});
    }
    cells.push_back(machine_text(one.fingerprint));
    table.row(std::move(cells));
  }
  return table;
}

Json series_list_json(std::span<const SeriesAnalysis> analyses) {
  Json list = Json::array();
  for (const SeriesAnalysis& analysis : analyses) {
    const StoredSeries& one = analysis.series;
    const auto& values = analysis.values;
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
    if (const auto change = last_change(analysis)) {
      const SeriesSegment& segment = analysis.segments.back();
      Json change_json{{"run", change->run},
                       {"time", change->time},
                       {"drifts", change->drifts},
                       {"values_since", change->values_since},
                       {"git_sha", values[segment.first].git_sha}};
      if (segment.first > 0) change_json["git_sha_before"] = values[segment.first - 1].git_sha;
      if (!segment.bisect.empty()) change_json["bisect"] = segment.bisect;
      if (change->ratio) {
        change_json["ratio"] = *change->ratio;
        change_json["ratio_interval"] = interval_json(change->interval);
        change_json["verdict"] = change_word(*change->ratio, one.direction);
      }
      json["last_change"] = std::move(change_json);
    }
    list.push_back(std::move(json));
  }
  return list;
}

std::string change_text(const std::optional<double>& ratio, const std::optional<Interval>& interval) {
  if (!ratio) return "";
  const std::string change = fmt::format("{:+.1f} %", 100 * (*ratio - 1));
  if (!interval) return change;
  return fmt::format("{} ({:+.1f} .. {:+.1f})", change, 100 * (interval->low - 1),
                     100 * (interval->high - 1));
}

std::string drift_text(const SeriesSegment& segment) {
  return fmt::format("drifts by {:+.1f} % over {} values", 100 * (*segment.drift - 1),
                     segment.last - segment.first + 1);
}

std::vector<std::string> series_answers(const SeriesAnalysis& analysis) {
  if (analysis.values.empty()) return {"no value was measured"};
  std::vector<std::string> answers{changes_answer(analysis)};
  if (analysis.suspected) {
    const StoredValue &before = analysis.values[analysis.suspected->index - 1],
                      &first = analysis.values[analysis.suspected->index];
    answers.push_back(
        fmt::format("possible change at @{} ({}), still inconclusive: compare @{} with a new run", first.run,
                    format_utc(first.time), before.run));
  }
  return answers;
}

View series_view(const SeriesAnalysis& analysis) {
  const StoredSeries& series = analysis.series;
  View view;
  const std::vector<std::string> answers = series_answers(analysis);
  view.answer(fmt::format("series {}: {}, {}: {}", series.id, series.name, series.metric, answers.front()),
              changes_tone(analysis));
  if (analysis.values.empty()) return view;
  if (answers.size() > 1) view.answer(answers.back());
  view.drawing(plot_text(analysis)).table(segments_table(analysis));
  std::string calls;
  for (const SeriesSegment& segment : analysis.segments) {
    if (!segment.bisect.empty())
      calls +=
          fmt::format("find the commit of @{}: {}\n", analysis.values[segment.first].run, segment.bisect);
  }
  view.drawing(calls);
  for (const SpreadChange& spread : analysis.spreads) {
    const StoredValue& first = analysis.values[spread.index];
    view.notes(fmt::format("spread {:.2g} times the earlier one from @{} ({}) on\n", spread.ratio, first.run,
                           format_utc(first.time)),
               Tone::kPlain);
  }
  const std::string better = series.direction == Direction::kUnknown
                                 ? "unknown which direction is better"
                                 : fmt::format("{} is better", to_string(series.direction));
  return view.notes(
      fmt::format("machine {}, {}\n", series.fingerprint.empty() ? "(unknown)" : series.fingerprint, better));
}

Json series_json(const SeriesAnalysis& analysis) {
  const StoredSeries& series = analysis.series;
  Json json{{"id", series.id},
            {"name", series.name},
            {"metric", series.metric},
            {"unit", series.unit},
            {"direction", to_string(series.direction)},
            {"fingerprint", series.fingerprint},
            {"identity", series.identity}};
  Json values = Json::array();
  for (const StoredValue& value : analysis.values) {
    values.push_back({{"run", value.run},
                      {"time", value.time},
                      {"value", value.value},
                      {"interval", interval_json(value.interval)},
                      {"samples", value.samples},
                      {"git_sha", value.git_sha},
                      {"headroom_version", value.headroom_version}});
  }
  Json segments = Json::array();
  for (const SeriesSegment& segment : analysis.segments) segments.push_back(segment_json(analysis, segment));
  Json spreads = Json::array();
  for (const SpreadChange& spread : analysis.spreads) {
    const StoredValue& first = analysis.values[spread.index];
    spreads.push_back({{"run", first.run}, {"time", first.time}, {"ratio", spread.ratio}});
  }
  json["values"] = std::move(values);
  json["spread_changes"] = std::move(spreads);
  json["segments"] = std::move(segments);
  json["suspected_at_run"] =
      analysis.suspected ? Json(analysis.values[analysis.suspected->index].run) : Json(nullptr);
  return json;
}

}  // namespace headroom
