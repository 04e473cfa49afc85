// SPDX-License-Identifier: Apache-2.0
#include "headroom/history/site_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "headroom/base/text.h"
#include "headroom/report/svg_text.h"

namespace headroom {

std::string page_text(std::string_view text) {
  std::string shown = xml_text(visible(text));
  // Two characters of Unicode that XML has not: U+FFFE, U+FFFF.
  for (std::size_t at = 0; (at = shown.find("\xEF\xBF", at)) != std::string::npos; ++at) {
    if (shown[at + 2] == '\xBE' || shown[at + 2] == '\xBF') shown[at + 2] = '\xBD';
  }
  return shown;
}

std::string series_title(const StoredSeries& series) {
  return page_text(series.name + " " + series.metric);
}

std::string level_of(double value, const std::string& unit) {
  return fmt::format("{:.5g}", value) + (unit.empty() ? "" : " " + page_text(unit));
}

std::string commit_text(const std::string& commit) {
  constexpr std::size_t kDigits = 12;
  return commit.empty() ? "-" : page_text(std::string_view(commit).substr(0, kDigits));
}

std::string page_head(const std::string& title, const std::string& up) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n"
      "<link rel=\"home\" href=\"{}index.html\">\n",
      page_text(title), up);
}

std::string embedded_json(const std::string& id, const Json& json) {
  std::string text;
  // Within JSON only strings have these.
  for (const char c : dump_json(json)) {
    if (c == '<' || c == '>' || c == '&') {
      text += fmt::format("\\u{:04x}", c);
    } else {
      text += c;
    }
  }
  return fmt::format("<script type=\"application/json\" id=\"{}\">{}</script>\n", id, text);
}

std::vector<ChangeOfSeries> changes_of(const SiteState& state) {
  std::vector<ChangeOfSeries> all;
  for (const SiteSeries& series : state.series) {
    for (const SiteChange& change : series.changes) all.push_back({&series, &change});
  }
  std::ranges::sort(all, [](const ChangeOfSeries& a, const ChangeOfSeries& b) {
    const auto key = [](const ChangeOfSeries& one) {
      return std::tuple(one.change->time, one.change->run, one.series->series.id);
    };
    return key(a) > key(b);
  });
  return all;
}

std::uint64_t newest_time(const SiteState& state) {
  std::uint64_t newest = 0;
  for (const SiteSeries& series : state.series) newest = std::max(newest, series.last_time);
  return newest;
}

}  // namespace headroom
