// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "cli/commands/history_transfer.h"
#include "cli/shared/option_table.h"
#include "cli/shared/print_table.h"
#include "cli/shared/say.h"
#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/glob.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/compare/margins.h"
#include "headroom/history/history_table.h"
#include "headroom/history/last_change.h"
#include "headroom/history/series_story.h"
#include "headroom/history/series_text.h"
#include "headroom/history/site.h"
#include "headroom/history/store.h"

namespace headroom::cli {
namespace {

constexpr const char* kHistoryExamples = R"(examples:
  headroom history                                    the last runs, and every series with its last change
  headroom history gemv D=4096 latency                the series whose name has all of these words
  headroom history 'layer_norm D=64*int8*'            '*' and '?' stand for any characters
  headroom history --series 7 --json -                one series with its changes, for a program
  headroom history --fail-on-regression 10 --min-magnitude 2%
                                                      exit code 1 where a series became slower lately
  headroom history --site public                      as pages for a browser, with a feed of changes
  headroom history export all.json                    and import FILE..., prune --keep N: see their --help
  headroom history verify                             whether all is as it was stored; repair where it is not
)";

struct HistoryOptions {
  std::string store, json, site, min_magnitude = "0";
  std::vector<std::string> words;
  std::optional<std::int64_t> series;
  std::int64_t runs = 20;
  std::optional<std::int64_t> newest;  ///< values in which a regression counts
  bool all = false;
};

/// What the words of a pattern are looked for in.
std::vector<std::string> words_of(const StoredSeries& series) {
  std::vector<std::string> words = split(series.name, ' ');
  words.insert(words.end(), {series.metric, series.unit, series.fingerprint});
  return words;
}

/// Every word has to be found: as a whole word of the name, the metric, the unit or the machine (latency is
/// not in latency_p99); with '*' or '?' in it, as a pattern for the whole of name and metric, or for one
/// word.
bool matches(const StoredSeries& series, const std::vector<std::string>& wanted) {
  const std::vector<std::string> words = words_of(series);
  const std::string whole = series.name + " " + series.metric;
  return std::ranges::all_of(wanted, [&](const std::string& pattern) {
    return fits_glob(pattern, whole) ||
           std::ranges::any_of(words, [&](const std::string& word) { return fits_glob(pattern, word); });
  });
}

std::vector<StoredSeries> select(std::vector<StoredSeries> all, const HistoryOptions& options,
                                 const std::string& store) {
  std::vector<std::string> wanted;
  for (const std::string& word : options.words) {
    // Blanks in a pattern are part of it; in plain words they part them.
    const bool is_pattern = word.find_first_of("*?") != std::string::npos;
    for (const std::string& part : is_pattern ? std::vector{word} : split(word, ' ')) {
      if (!part.empty()) wanted.push_back(part);
    }
  }
  std::set<std::string> names;
  for (const StoredSeries& series : all) {
    for (const std::string& word : words_of(series)) names.insert(word);
  }
  std::erase_if(all, [&](const StoredSeries& series) {
    return options.series ? series.id != *options.series : !matches(series, wanted);
  });
  if (!all.empty()) return all;
  if (options.series)
    throw Error(
        fmt::format("{} has no series {}; headroom history lists them", in_quotes(store), *options.series));
  const std::vector<std::string> known(names.begin(), names.end());
  std::string hint;
  for (const std::string& word : wanted) {
    if (word.starts_with("@"))
      throw Error(word + " is a run, not a series: headroom show " + word + " shows it");
    if (!names.contains(word)) hint += did_you_mean(word, known);
  }
  throw Error(fmt::format("{} has no series that fits {}{}; headroom history lists them", in_quotes(store),
                          in_quotes(join(options.words, " ")), hint));
}

void write_json(const std::string& file, const Json& json) {
  write_file_atomically(file == "-" ? "/dev/stdout" : file, dump_json_pretty(json) + "\n");
}

/// The stories of those series; `with_environments` says at changes what else changed.
std::vector<SeriesStory> stories_of(Store& store, const std::vector<StoredSeries>& chosen,
                                    const HistoryOptions& options, bool with_environments) {
  std::function<Environment(std::int64_t)> environment_of;
  if (with_environments) environment_of = [&store](std::int64_t run) { return store.environment(run); };
  const double least = parse_margin(options.min_magnitude);
  std::vector<SeriesStory> stories;
  for (const StoredSeries& series : chosen)
    stories.push_back(series_story(series, store.values(series.id), environment_of, least));
  return stories;
}

/// The answer of the gate, where one was asked for: its sentence goes to `stream`.
ExitCode answer(const std::vector<SeriesStory>& stories, const HistoryOptions& options, std::FILE* stream) {
  if (!options.newest) return ExitCode::kFine;
  const RegressionAnswer answer = regression_answer(stories, static_cast<std::size_t>(*options.newest));
  print_text(fmt::format("\n{}\n", answer.sentence), stream);
  return answer.exit;
}

ExitCode show_overview(Store& store, const HistoryOptions& options) {
  const std::vector<StoredRun> runs = store.runs(static_cast<std::size_t>(options.runs));
  const std::vector<SeriesStory> stories = stories_of(store, store.series(), options, false);
  if (!options.json.empty()) {
    write_json(options.json, {{"store", store.name()},
                              {"answer", changes_sentence(stories)},
                              {"runs", runs_json(runs)},
                              {"series", series_list_json(stories)}});
    if (options.json == "-") return answer(stories, options, stderr);
  }
  print_sheet(Sheet()
                  .answer(changes_sentence(stories))
                  .title("the last runs")
                  .table(runs_table(runs))
                  .title("series")
                  .table(series_table(stories))
                  .notes("in " + store.name()),
              stdout);
  return answer(stories, options, stdout);
}

ExitCode show_series(Store& store, const HistoryOptions& options) {
  const std::vector<StoredSeries> chosen = select(store.series(), options, store.name());
  constexpr std::size_t kShownAtOnce = 3;
  const bool listed = chosen.size() > kShownAtOnce && !options.all && options.json.empty();
  const std::vector<SeriesStory> stories = stories_of(store, chosen, options, !listed);
  if (listed) {
    print_sheet(
        Sheet()
            .answer(changes_sentence(stories))
            .table(series_table(stories))
            .notes(fmt::format("{} series fit; name more of one, or give --series N, or --all for each "
                               "with its plot",
                               chosen.size())),
        stdout);
    return answer(stories, options, stdout);
  }
  Json list = Json::array();
  std::vector<Sheet> sheets;
  for (const SeriesStory& story : stories) {
    sheets.push_back(series_sheet(story));
    if (options.json.empty()) continue;
    Json json = series_json(story);
    json["answer"] = sheets.back().answers();
    list.push_back(std::move(json));
  }
  if (!options.json.empty()) write_json(options.json, {{"store", store.name()}, {"series", std::move(list)}});
  for (const Sheet& sheet : sheets) {
    if (options.json == "-") break;
    if (&sheet != &sheets.front()) std::fputs("\n", stdout);
    print_sheet(sheet, stdout);
  }
  return answer(stories, options, options.json == "-" ? stderr : stdout);
}

ExitCode make_site(Store& store, const HistoryOptions& options) {
  const SiteResult result = write_site(store, options.site, parse_margin(options.min_magnitude));
  if (!options.json.empty()) {
    write_json(options.json, {{"site", options.site},
                              {"series", result.series},
                              {"written", result.written},
                              {"removed", result.removed}});
    if (options.json == "-") return ExitCode::kFine;
  }
  const auto pages = [](std::size_t count) { return fmt::format("{} page{}", count, count == 1 ? "" : "s"); };
  print_text(fmt::format("{} series in {}/index.html: {} written, {} removed\n", result.series, options.site,
                         pages(result.written), pages(result.removed)),
             stdout);
  return ExitCode::kFine;
}

ExitCode show(const Arguments& arguments) {
  HistoryOptions options;
  OptionTable table("Shows what was measured before: runs, series over time, and where they changed.",
                    "headroom history");
  table.footer(kHistoryExamples);
  table.add_option("WORD", options.words, "the series whose name, metric, unit and machine have all of these")
      .take_all();
  table.add_option("--series", options.series, "the series of this number");
  table.add_flag("--all", options.all, "plot every series that fits, however many");
  table
      .add_option("--min-magnitude", options.min_magnitude,
                  "leave out changes of less than this share of the level before (default 0)")
      .type_name("SHARE");
  table
      .add_option(
          "--fail-on-regression", options.newest,
          "exit code 1 where a series became worse within its last N values or drifts to the worse, 3 "
          "where all series are too short to tell")
      .range(1, std::int64_t{1} << 40);
  table.add_option("--runs", options.runs, "how many of the last runs to list (default 20)")
      .range(1, std::int64_t{1} << 40);
  table
      .add_option(
          "--site", options.site,
          "write all series as pages, with what changed first and a feed: into this folder, new or of a "
          "site; only pages that change are written anew")
      .type_name("FOLDER")
      .completed_by(Completes::kFile);
  table.add_option("--json", options.json,
                   "also write it to this file ('-': to standard output, and nothing else)");
  table.add_option("--store", options.store,
                   "file, or postgresql://USER@HOST/NAME (default: HEADROOM_STORE, else the user's)");
  table.add_no_follow();
  if (const auto done = parse_arguments(table, arguments)) return *done;
  parse_margin(options.min_magnitude);  // refused before anything is read
  if (!options.site.empty() && (!options.words.empty() || options.series || options.newest || options.all))
    throw Error("--site shows all series: leave out WORD, --series, --all and --fail-on-regression");
  if (!options.json.empty() && options.json != "-") require_writable(options.json);
  const auto store = open_store(options.store.empty() ? default_store() : options.store, StoreAccess::kRead);
  if (!options.site.empty()) return make_site(*store, options);
  return options.words.empty() && !options.series ? show_overview(*store, options)
                                                  : show_series(*store, options);
}

}  // namespace

ExitCode history(const Arguments& arguments) {
  constexpr std::pair<const char*, ExitCode (*)(const Arguments&)> kActions[] = {{"export", history_export},
                                                                                 {"import", history_import},
                                                                                 {"prune", history_prune},
                                                                                 {"repair", history_repair},
                                                                                 {"verify", history_verify}};
  for (const auto& [name, action] : kActions) {
    if (!arguments.empty() && arguments.front() == name)
      return action({arguments.begin() + 1, arguments.end()});
  }
  return show(arguments);
}

std::vector<CommandWord> history_words() {
  return {{"export", "runs of the history as a file of records"},
          {"import", "files of results into the history"},
          {"prune", "remove old results"},
          {"repair", "remove what is damaged"},
          {"verify", "whether all is as it was stored"}};
}

}  // namespace headroom::cli
