// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "headroom/history/history_table.h"
#include "headroom/history/site_page.h"
#include "headroom/history/site_summary.h"
#include "headroom/history/site_text.h"

namespace headroom {
namespace {

std::string link_to(const SiteSeries& one) {
  return fmt::format("<a href=\"{}\">{}</a>", one.page(), series_title(one.series));
}

std::string machine_of(const SiteSeries& one) {
  return one.series.fingerprint.empty() ? "(unknown)" : page_text(one.series.fingerprint);
}

/// Medians of parts of the series as a line; the words beside it say what it shows.
std::string spark_svg(const std::vector<double>& values) {
  constexpr double kWidth = 120, kHeight = 20, kMargin = 2;
  if (values.size() < 2) return "";
  const auto [least, most] = std::ranges::minmax(values);
  const double range = most > least ? most - least : 1;
  std::string points;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double x =
        kMargin + (kWidth - 2 * kMargin) * static_cast<double>(i) / static_cast<double>(values.size() - 1);
    const double y = kHeight - kMargin - (kHeight - 2 * kMargin) * (values[i] - least) / range;
    points += fmt::format("{}{:.1f},{:.1f}", i == 0 ? "" : " ", x, y);
  }
  return fmt::format(
      "<svg class=\"spark\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" aria-hidden=\"true\">"
      "<polyline points=\"{2}\" fill=\"none\" stroke=\"currentColor\"/></svg>",
      kWidth, kHeight, points);
}

std::string change_row(const ChangeOfSeries& one) {
  const SiteChange& change = *one.change;
  return fmt::format(
      "<tr class=\"{}\"><td>{}</td><td>{}</td><td>{}</td><td>@{} {}</td><td>{}</td><td>{}</td></tr>\n",
      change.worse ? "worse" : "better", link_to(*one.series), machine_of(*one.series), change_words(change),
      change.run, format_utc(change.time), commit_text(change.commit), change.values_since);
}

std::string changes_table(const std::vector<ChangeOfSeries>& changes) {
  std::string table =
      "<table>\n<thead><tr><th>series</th><th>machine</th><th>changed by</th><th>at run (UTC)</th>"
      "<th>commit</th><th>values since</th></tr></thead>\n<tbody>\n";
  for (const ChangeOfSeries& one : changes) table += change_row(one);
  return table + "</tbody>\n</table>\n";
}

std::string changes_section(const SiteState& state) {
  constexpr std::size_t kEarlier = 50;
  const std::uint64_t newest = newest_time(state);
  std::vector<ChangeOfSeries> recent, earlier;
  for (const ChangeOfSeries& one : changes_of(state))
    (is_recent(*one.series, *one.change, newest) ? recent : earlier).push_back(one);
  std::string text = fmt::format("<h2>What changed in the week up to {} (UTC)</h2>\n", format_utc(newest));
  text += recent.empty() ? "<p>Nothing that can be told from noise.</p>\n" : changes_table(recent);
  if (earlier.empty()) return text;
  const std::size_t all = earlier.size();
  if (all > kEarlier) earlier.resize(kEarlier);
  text += fmt::format("<details><summary>{} earlier change{}{}</summary>\n", all, all == 1 ? "" : "s",
                      all > kEarlier ? fmt::format(", the newest {}", kEarlier) : "");
  return text + changes_table(earlier) + "</details>\n";
}

std::string suspicions_section(const SiteState& state) {
  std::string text;
  for (const SiteSeries& one : state.series) {
    if (!one.suspected) continue;
    text += fmt::format("<li>{} on {}, at run @{}</li>\n", link_to(one), machine_of(one), *one.suspected);
  }
  if (text.empty()) return text;
  return "<h2>Perhaps changed, too early to tell</h2>\n<ul>\n" + text + "</ul>\n";
}

std::string series_row(const SiteSeries& one) {
  const std::string change = one.changes.empty() ? ""
                                                 : fmt::format("{} at @{}", change_words(one.changes.back()),
                                                               one.changes.back().run);
  return fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                     link_to(one), spark_svg(one.spark), level_of(one.level, one.series.unit),
                     one.mark.values, format_utc(one.last_time), change);
}

/// Those of a machine stand together: the state is in that order.
std::string series_section(const SiteState& state) {
  std::string text;
  for (std::size_t i = 0; i < state.series.size(); ++i) {
    const bool begins =
        i == 0 || state.series[i].series.fingerprint != state.series[i - 1].series.fingerprint;
    if (begins) {
      text += fmt::format(
          "{}<h2>Machine {}</h2>\n<table>\n<thead><tr><th>series</th><th>over time</th>"
          "<th>level now</th><th>values</th><th>last (UTC)</th><th>last change</th></tr></thead>\n<tbody>\n",
          i == 0 ? "" : "</tbody>\n</table>\n", machine_of(state.series[i]));
    }
    text += series_row(state.series[i]);
  }
  return text.empty() ? "<p>No series has a value yet.</p>\n" : text + "</tbody>\n</table>\n";
}

}  // namespace

std::string site_index(const SiteState& state) {
  return page_head("Performance over time", "") +
         "<link rel=\"alternate\" type=\"application/atom+xml\" href=\"feed.xml\">\n</head>\n<body>\n"
         "<h1>Performance over time</h1>\n" +
         changes_section(state) + suspicions_section(state) + series_section(state) + "</body>\n</html>\n";
}

}  // namespace headroom
