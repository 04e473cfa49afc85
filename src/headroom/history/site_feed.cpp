// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <ctime>

#include "headroom/base/text.h"
#include "headroom/history/history_table.h"
#include "headroom/history/packed_text.h"
#include "headroom/history/site_page.h"
#include "headroom/history/site_summary.h"
#include "headroom/report/svg_text.h"

namespace headroom {
namespace {

/// Text of strangers as XML may be given it: what would steer a reader is spelled.
std::string feed_text(const std::string& text) {
  std::string shown = xml_text(visible(text));
  // Two characters of Unicode that XML has not: U+FFFE, U+FFFF.
  for (std::size_t at = 0; (at = shown.find("\xEF\xBF", at)) != std::string::npos; ++at) {
    if (shown[at + 2] == '\xBE' || shown[at + 2] == '\xBF') shown[at + 2] = '\xBD';
  }
  return shown;
}

std::string commit_text(const std::string& commit) {
  constexpr std::size_t kDigits = 12;
  return commit.empty() ? "-" : feed_text(commit.substr(0, kDigits));
}

/// RFC 3339 of seconds since 1970.
std::string feed_time(std::uint64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  if (::gmtime_r(&time, &parts) == nullptr || parts.tm_year > 9999 - 1900) return "1970-01-01T00:00:00Z";
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

/// A name-based UUID of the form that RFC 9562 leaves to the program (version 8): equal for equal text.
std::string urn_of(const std::string& text) {
  std::string digits = digest_of(text);
  digits[12] = '8';
  digits[16] = 'a';
  return fmt::format("urn:uuid:{}-{}-{}-{}-{}", digits.substr(0, 8), digits.substr(8, 4),
                     digits.substr(12, 4), digits.substr(16, 4), digits.substr(20));
}

std::string entry(const ChangeOfSeries& one) {
  const StoredSeries& series = one.series->series;
  const SiteChange& change = *one.change;
  const std::string title = feed_text(series.name + " " + series.metric) + ": " + change_words(change);
  std::string text = fmt::format("{} on machine {}, at run @{} of {} (UTC), commit {}", title,
                                 series.fingerprint.empty() ? "(unknown)" : feed_text(series.fingerprint),
                                 change.run, format_utc(change.time), commit_text(change.commit));
  if (change.run_before != 0)
    text += fmt::format("; before: run @{}, commit {}", change.run_before, commit_text(change.commit_before));
  const std::string id =
      urn_of(join(std::vector{series.identity, series.fingerprint, series.unit, change.key}, "\n"));
  return fmt::format(
      "  <entry>\n    <id>{}</id>\n    <title>{}</title>\n    <updated>{}</updated>\n"
      "    <link rel=\"alternate\" type=\"text/html\" href=\"{}\"/>\n"
      "    <content type=\"text\">{}.</content>\n  </entry>\n",
      id, title, feed_time(change.time), one.series->page(), text);
}

}  // namespace

std::string site_feed(const SiteState& state) {
  constexpr std::size_t kEntries = 100;
  std::string feed = fmt::format(
      "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n"
      "  <id>{}</id>\n  <title>Changes of performance</title>\n  <updated>{}</updated>\n"
      "  <author><name>headroom</name></author>\n"
      "  <generator version=\"{}\">headroom</generator>\n"
      "  <link rel=\"alternate\" type=\"text/html\" href=\"index.html\"/>\n",
      urn_of(state.feed), feed_time(newest_time(state)), feed_text(state.headroom));
  std::vector<ChangeOfSeries> changes = changes_of(state);
  if (changes.size() > kEntries) changes.resize(kEntries);
  for (const ChangeOfSeries& one : changes) feed += entry(one);
  return feed + "</feed>\n";
}

}  // namespace headroom
