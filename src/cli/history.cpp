// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "cli/commands.h"
#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/compare/verdict.h"
#include "headroom/console/command.h"
#include "headroom/console/max_memory.h"
#include "headroom/console/option_table.h"
#include "headroom/console/output.h"
#include "headroom/console/program.h"
#include "headroom/files/compressed_file.h"
#include "headroom/history/series_analysis.h"
#include "headroom/history/store.h"
#include "headroom/record/formats.h"
#include "headroom/results/record_files.h"

namespace headroom::cli {
namespace {

const std::string& add_store_option(OptionTable& table) {
  std::string& store = table.own<std::string>();
  store = default_store();
  table.add_option("--store", store,
                   "file, or postgresql://USER@HOST/NAME (default: HEADROOM_STORE, else the user's)");
  return store;
}

void add_json_option(OptionTable& table, std::string& file) {
  table.add_option("--json", file, "also write JSON to this file ('-': only JSON, to standard output)");
}

void add_min_magnitude(OptionTable& table, std::string& share) {
  table
      .add_option("--min-magnitude", share,
                  "leave out changes smaller than this share of the previous level (default 0)")
      .type_name("SHARE");
}

std::vector<std::vector<Record>> runs_of(std::vector<Record> records) {
  std::vector<std::vector<Record>> runs;
  for (Record& record : records) {
    const auto same = std::ranges::find_if(runs, [&record](const std::vector<Record>& run) {
      return run.front().environment == record.environment;
    });
    if (same == runs.end()) {
      runs.push_back({std::move(record)});
    } else {
      same->push_back(std::move(record));
    }
  }
  return runs;
}

std::uint64_t time_of_file(const std::string& path) {
  const auto changed = std::chrono::file_clock::to_sys(std::filesystem::last_write_time(path));
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::seconds>(changed.time_since_epoch()).count());
}

void change_environment(std::vector<Record>& run, const std::function<void(Environment&)>& change) {
  const auto& known = run.front().environment;
  Environment environment = known ? *known : Environment{};
  change(environment);
  const auto shared = std::make_shared<const Environment>(std::move(environment));
  for (Record& record : run) record.environment = shared;
}

/// Reads a file, or each file with results in a folder; warns of the others.
std::vector<FileResults> results_of(const std::string& operand, const std::string& from) {
  std::error_code error;
  if (!std::filesystem::is_directory(operand, error)) return {results_of_file(operand, from)};
  FolderResults results = results_in_folder(operand, from);
  for (const std::string& warning : results.warnings) print_sentence(warning);
  return std::move(results.files);
}

void append_runs(FileResults file, const std::string& machine, std::vector<std::vector<Record>>& runs) {
  for (std::vector<Record>& run : runs_of(std::move(file.records))) {
    const auto& known = run.front().environment;
    if (!known || known->timestamp == 0) {
      const std::uint64_t time = time_of_file(file.path);
      change_environment(run, [time](Environment& environment) { environment.timestamp = time; });
      print_message("{} has no time of measurement; using the time of the file", file.path.string());
    }
    // The machine selects the series.
    if (!machine.empty())
      change_environment(run, [&machine](Environment& environment) { environment.fingerprint = machine; });
    runs.push_back(std::move(run));
  }
}

/// Returns seconds; nullopt if it is not an age.
std::optional<std::uint64_t> to_age(const std::string& text) {
  const std::optional<double> number =
      text.empty() ? std::nullopt : to_number(std::string_view(text).substr(0, text.size() - 1));
  constexpr double kDay = 86400, kLongest = 1e18;
  constexpr std::pair<char, double> kSeconds[] = {
      {'h', 3600}, {'d', kDay}, {'w', 7 * kDay}, {'y', 365 * kDay}};
  for (const auto& [letter, seconds] : kSeconds) {
    if (number && *number >= 0 && text.back() == letter)
      return static_cast<std::uint64_t>(std::min(*number * seconds, kLongest));
  }
  return std::nullopt;
}

std::uint64_t now() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
          .count());
}

constexpr ConstantHelp kHistoryExamples[] = {
    {"headroom history", "the last runs, and each latency against the run before"},
    {"headroom history gemv D=4096 latency", "series whose name has all of these words"},
    {"headroom history 'layer_norm D=64*int8*'", "'*' and '?' stand for any characters"},
    {"headroom history --series 7 --json -", "one series with its changes, for a program"},
    {"headroom history gate --last 10 --min-magnitude 2%",
     "exit 1 if a series became worse in its last 10 values"},
    {"headroom history --site public", "write pages for a browser, with a feed of changes"},
    {"headroom history export all.json", "and import FILE..., prune --keep N: see their --help"},
    {"headroom history verify", "check the history for damage; repair removes it"},
};

constexpr ForeignOption kForeignHistoryOptions[] = {
    {"--runs,-n", true, "--last {}", "give --last N: the number of runs to list"},
    {"-o,--output,--csv", true, nullptr, "give --json FILE for the numbers, or > FILE for the table"},
};

struct HistoryOptions {
  std::string store, json, site, min_magnitude = "0";
  std::vector<std::string> words;
  std::optional<std::int64_t> series;
  std::int64_t runs = 20;
  std::optional<std::int64_t> newest;  ///< values in which a regression counts
  bool all = false, no_follow = false;
};

/// The words matched by plain words of a query.
std::vector<std::string> words_of(const StoredSeries& series) {
  std::vector<std::string> words = split(series.name, ' ');
  words.insert(words.end(), {series.metric, series.unit, series.fingerprint});
  return words;
}

/// Texts of the identity, which may contain blanks: "make -j 4", "D=64", "native".
std::vector<std::string> parts_of(const StoredSeries& series) {
  std::vector<std::string> parts;
  const auto add = [&](const Json& part) {
    if (part.is_string()) parts.push_back(part.string());
  };
  for (const Json& part :
       parse_json(series.identity, "the identity of series " + std::to_string(series.id))) {
    add(part);
    if (part.is_array()) std::ranges::for_each(part, add);
  }
  return parts;
}

/// Every wanted word must match: a plain word a whole word of name, metric, unit or machine, or a part of the
/// identity; a pattern ('*', '?') all of name and metric, a word, or a part.
bool matches(const StoredSeries& series, const std::vector<std::string>& wanted) {
  std::vector<std::string> words = words_of(series);
  std::ranges::move(parts_of(series), std::back_inserter(words));
  const std::string whole = series.name + " " + series.metric;
  return std::ranges::all_of(wanted, [&](const std::string& pattern) {
    return fits_glob(pattern, whole) ||
           std::ranges::any_of(words, [&](const std::string& word) { return fits_glob(pattern, word); });
  });
}

std::vector<StoredSeries> select(std::vector<StoredSeries> all, const HistoryOptions& options,
                                 const std::string& store) {
  std::set<std::string> parts;
  for (const StoredSeries& series : all) {
    for (const std::string& part : parts_of(series)) parts.insert(part);
  }
  std::vector<std::string> wanted;
  for (const std::string& word : options.words) {
    // Blanks separate plain words, but belong to a pattern or a part.
    const bool is_whole = word.find_first_of("*?") != std::string::npos || parts.contains(word);
    for (const std::string& part : is_whole ? std::vector{word} : split(word, ' ')) {
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
        fmt::format("{} has no series {}; headroom history lists them", quote(store), *options.series));
  const std::vector<std::string> known(names.begin(), names.end());
  std::string hint;
  for (const std::string& word : wanted) {
    if (word == "last") throw Error("headroom show last shows the last run; headroom history lists the runs");
    if (word.starts_with("@"))
      throw Error(word + " is a run, not a series: use headroom show " + word + " instead");
    if (!names.contains(word)) hint += did_you_mean(word, known);
  }
  throw Error(fmt::format("{} has no series that matches {}{}; headroom history lists them", quote(store),
                          quote(join(options.words, " ")), hint));
}

void write_json(const std::string& file, const Json& json) {
  write_file_atomically(file == "-" ? "/dev/stdout" : file, dump_json_pretty(json) + "\n");
}

/// `with_environments`: report other changes at each change.
std::vector<SeriesAnalysis> analyse_all(Store& store, const std::vector<StoredSeries>& chosen,
                                        const HistoryOptions& options, bool with_environments) {
  std::function<Environment(std::int64_t)> environment_of;
  if (with_environments) environment_of = [&store](std::int64_t run) { return store.environment(run); };
  const double least = parse_margin(options.min_magnitude);
  std::vector<SeriesAnalysis> analyses;
  for (const StoredSeries& series : chosen)
    analyses.push_back(series_analysis(series, store.values(series.id), environment_of, least));
  return analyses;
}

/// Answers --fail-on-regression on `stream`.
ExitCode answer(const std::vector<SeriesAnalysis>& analyses, const HistoryOptions& options,
                std::FILE* stream) {
  if (!options.newest) return ExitCode::kSuccess;
  const RegressionAnswer answer = regression_answer(analyses, static_cast<std::size_t>(*options.newest));
  print_text(fmt::format("\n{}\n", answer.sentence), stream);
  return answer.exit;
}

/// Leaves out the numbers of traces, unless there is nothing else.
struct Overview {
  std::vector<SeriesAnalysis> series;
  std::vector<StoredRun> runs;                ///< newest first
  std::map<std::int64_t, std::size_t> cases;  ///< by run
  std::size_t trace_runs = 0;
};

Overview overview_of(Store& store, const std::vector<SeriesAnalysis>& all, std::size_t newest) {
  Overview overview;
  std::set<std::int64_t> traces;
  std::map<std::int64_t, std::set<std::string>> names;
  for (const SeriesAnalysis& analysis : all) {
    const bool is_trace = is_of_trace(analysis.series);
    for (const StoredValue& value : analysis.values) {
      if (is_trace) traces.insert(value.run);
      if (!is_trace) names[value.run].insert(analysis.series.name);
    }
    if (!is_trace) overview.series.push_back(analysis);
  }
  if (overview.series.empty()) {
    overview.series = all;
    traces.clear();
  }
  overview.runs = store.runs(traces.empty() ? std::optional(newest) : std::nullopt);
  overview.trace_runs = std::erase_if(overview.runs, [&](const StoredRun& run) {
    return traces.contains(run.id) && !names.contains(run.id);
  });
  std::ranges::reverse(overview.runs);
  if (overview.runs.size() > newest) overview.runs.resize(newest);
  for (const auto& [run, of_run] : names) overview.cases[run] = of_run.size();
  return overview;
}

/// The series of latency, or all if there are none.
View series_overview(const std::vector<SeriesAnalysis>& all) {
  constexpr std::size_t kNamed = 4;
  std::vector<SeriesAnalysis> latencies;
  std::set<std::string> others;
  for (const SeriesAnalysis& analysis : all) {
    if (analysis.series.metric == "latency") {
      latencies.push_back(analysis);
    } else {
      others.insert(analysis.series.metric);
    }
  }
  if (latencies.empty()) return View().title("the last values").table(series_table(all));
  View view;
  view.title("latency, against the run before").table(series_table(latencies));
  if (others.empty()) return view;
  std::vector<std::string> names(others.begin(), others.end());
  if (names.size() > kNamed) {
    names.resize(kNamed);
    names.emplace_back("...");
  }
  return view.notes(fmt::format("  {} more series: {}; headroom history METRIC shows those of one metric\n",
                                all.size() - latencies.size(), join(names, ", ")));
}

ExitCode show_overview(Store& store, const HistoryOptions& options) {
  const auto newest = static_cast<std::size_t>(options.runs);
  const std::vector<SeriesAnalysis> analyses = analyse_all(store, store.series(), options, false);
  const Overview overview = overview_of(store, analyses, newest);
  const std::string changes = changes_sentence(overview.series);
  if (!options.json.empty()) {
    write_json(options.json, {{"store", store.name()},
                              {"answer", changes},
                              {"runs", runs_json(store.runs(newest))},
                              {"series", series_list_json(analyses)}});
    if (options.json == "-") return answer(analyses, options, stderr);
  }
  View view;
  view.answer(changes)
      .title("the last runs")
      .table(runs_table(overview.runs, overview.cases))
      .append(series_overview(overview.series));
  if (overview.trace_runs > 0)
    view.notes(fmt::format("  {} of traces: headroom history trace shows their numbers\n",
                           counted(overview.trace_runs, "run")));
  print_view(view.notes("in " + store.name()), stdout);
  return answer(analyses, options, stdout);
}

ExitCode show_series(Store& store, const HistoryOptions& options) {
  const std::vector<StoredSeries> chosen = select(store.series(), options, store.name());
  constexpr std::size_t kShownAtOnce = 3;
  const bool listed = chosen.size() > kShownAtOnce && !options.all && options.json.empty();
  const std::vector<SeriesAnalysis> analyses = analyse_all(store, chosen, options, !listed);
  if (listed) {
    print_view(View()
                   .answer(changes_sentence(analyses))
                   .table(series_table(analyses))
                   .notes(fmt::format("{} series match; give more words, --series N, or --all to plot each",
                                      chosen.size())),
               stdout);
    return answer(analyses, options, stdout);
  }
  Json list = Json::array();
  std::vector<View> views;
  for (const SeriesAnalysis& analysis : analyses) {
    views.push_back(series_view(analysis));
    if (options.json.empty()) continue;
    Json json = series_json(analysis);
    json["answer"] = views.back().answers();
    list.push_back(std::move(json));
  }
  if (!options.json.empty()) write_json(options.json, {{"store", store.name()}, {"series", std::move(list)}});
  for (const View& view : views) {
    if (options.json == "-") break;
    if (&view != &views.front()) std::fputs("\n", stdout);
    print_view(view, stdout);
  }
  return answer(analyses, options, options.json == "-" ? stderr : stdout);
}

ExitCode make_site(const HistoryOptions& options) {
  Arguments arguments{"site", options.site, "--min-magnitude", options.min_magnitude};
  if (!options.store.empty()) arguments.insert(arguments.end(), {"--store", options.store});
  if (!options.json.empty()) arguments.insert(arguments.end(), {"--json", options.json});
  if (options.no_follow) arguments.emplace_back("--no-follow");
  return run_program("headroom-pages", arguments);
}

ExitCode show_history(const HistoryOptions& options) {
  parse_margin(options.min_magnitude);  // validates early
  if (!options.site.empty() && (!options.words.empty() || options.series || options.newest || options.all))
    throw Error("--site shows all series: leave out WORD, --series, --all and --fail-on-regression");
  if (!options.json.empty() && options.json != "-") require_writable(options.json);
  if (!options.site.empty()) return make_site(options);
  const auto store = open_store(options.store.empty() ? default_store() : options.store, StoreAccess::kRead);
  return options.words.empty() && !options.series ? show_overview(*store, options)
                                                  : show_series(*store, options);
}

OptionTable history_show_options() {
  OptionTable table("Show stored runs, series over time, and where they changed.", "headroom history");
  auto& options = table.own<HistoryOptions>();
  table.examples(kHistoryExamples);
  table
      .add_option("WORD", options.words, "show series whose name, metric, unit and machine have all of these")
      .take_all();
  table.add_option("--series", options.series, "show the series of this number");
  table.add_flag("--all", options.all, "plot every matching series");
  add_min_magnitude(table, options.min_magnitude);
  table
      .add_option("--fail-on-regression", options.newest,
                  "add the answer of headroom history gate --last N, and its exit code")
      .range(1, std::int64_t{1} << 40);
  table.add_option("--last", options.runs, "number of last runs to list (default 20)")
      .range(1, std::int64_t{1} << 40);
  table
      .add_option("--site", options.site,
                  "write all series as pages to this folder, changed series first, with a feed; unchanged "
                  "pages are not rewritten")
      .type_name("FOLDER")
      .completed_by(Completes::kFile);
  add_json_option(table, options.json);
  table.add_option("--store", options.store,
                   "file, or postgresql://USER@HOST/NAME (default: HEADROOM_STORE, else the user's)");
  const bool& no_follow = table.add_no_follow();
  table.foreign(kForeignHistoryOptions);
  table.finish([&] {
    options.no_follow = no_follow;
    return show_history(options);
  });
  return table;
}

ExitCode export_runs(const std::string& place, std::string file, const std::vector<std::string>& references) {
  if (file == "-") file = "/dev/stdout";
  require_writable(file);
  const auto store = open_store(place, StoreAccess::kRead);
  std::vector<std::int64_t> runs;
  for (const std::string& reference : references) runs.push_back(store->find_run(reference));
  std::size_t results = 0;
  FileWriter writer(file);
  store->read_snapshot([&] {
    if (references.empty()) runs = store->run_ids();
    write_json_text(
        runs.size(), [&](std::size_t at) { return store->environment(runs[at]); },
        [&](std::size_t at) {
          std::vector<Record> records = store->records(runs[at]);
          results += records.size();
          return records;
        },
        [&writer](std::string_view text) { writer.write(text); });
  });
  writer.finish();
  print_text(
      fmt::format("{} of {} written to {}\n", counted(results, "result"), counted(runs.size(), "run"), file),
      stderr);
  return ExitCode::kSuccess;
}

OptionTable history_gate_options() {
  OptionTable table("Exit with 1 if a series became worse within its last values.", "headroom history gate");
  auto& options = table.own<HistoryOptions>();
  std::int64_t& newest = options.newest.emplace(10);
  table.examples(
      {{"headroom history gate", "all series"},
       {"headroom history gate --last 20 --min-magnitude 3% gemv latency",
        "one metric of one case, changes from 3 % on"},
       {"headroom history gate --json gate.json", "also the verdict on each series, for a program"}});
  table.details(
      {"exit codes: 0 none became worse, 1 one did or drifts for the worse, 2 error, 3 all series are too "
       "short"});
  table.add_option("CASE", options.words, "only series whose name, metric, unit and machine have these words")
      .take_all();
  table.add_option("--last", newest, "number of last values of a series that count (default 10)")
      .range(1, std::int64_t{1} << 40);
  add_min_magnitude(table, options.min_magnitude);
  add_json_option(table, options.json);
  const std::string& place = add_store_option(table);
  table.add_no_follow();
  table.finish([&options, &place] {
    parse_margin(options.min_magnitude);  // validates early
    if (!options.json.empty() && options.json != "-") require_writable(options.json);
    const auto store = open_store(place, StoreAccess::kRead);
    const std::vector<StoredSeries> chosen = select(store->series(), options, store->name());
    const RegressionAnswer answer = regression_answer(analyse_all(*store, chosen, options, false),
                                                      static_cast<std::size_t>(*options.newest));
    if (!options.json.empty()) {
      Json json = Json::object();
      json["store"] = store->name();
      json.update(answer.json);
      write_json(options.json, json);
    }
    if (options.json == "-") {
      print_text(answer.sentence + "\n", stderr);
    } else {
      print_view(answer.view, stdout);
    }
    return answer.exit;
  });
  return table;
}

OptionTable history_views_options() {
  OptionTable table("Create or update the views of a history in PostgreSQL that Grafana reads.",
                    "headroom history views");
  auto& options = table.own<HistoryOptions>();
  table.examples({{"headroom history views --store postgresql://me@server/benchmarks", ""}});
  table.details(
      {"The views series, runs, results and changes are in the schema headroom_views. Values are always "
       "current; changes are those of the last call."});
  add_min_magnitude(table, options.min_magnitude);
  const std::string& place = add_store_option(table);
  table.finish([&options, &place] {
    if (!is_remote(place))
      throw Error(quote(place) +
                  " is a file; views need a history in PostgreSQL: --store postgresql://USER@HOST/NAME");
    parse_margin(options.min_magnitude);  // validates early
    open_store(place, StoreAccess::kRead);
    const auto store = open_store(place);
    const std::vector<StoredSeries> all = store->series();
    std::vector<StoredChange> changes;
    for (const SeriesAnalysis& analysis : analyse_all(*store, all, options, false)) {
      for (std::size_t i = 1; i < analysis.segments.size(); ++i) {
        const SeriesSegment& segment = analysis.segments[i];
        changes.push_back(
            {analysis.series.id, analysis.values[segment.first].run, segment.ratio, segment.ratio_interval});
      }
    }
    store->write_views(changes);
    print_text(fmt::format("{} of {} series in the views of the schema headroom_views of {}\n",
                           counted(changes.size(), "change"), all.size(), store->name()),
               stdout);
    return ExitCode::kSuccess;
  });
  return table;
}

OptionTable history_export_options() {
  OptionTable table("Write runs of the history to a file of records.", "headroom history export");
  auto& file = table.own<std::string>();
  auto& references = table.own<std::vector<std::string>>();
  table.examples({{"headroom history export all.json", "every run"},
                  {"headroom history export last.json @last", "one run"},
                  {"headroom history export - @12 @git:1a2b3c", "to standard output"}});
  table.add_option("FILE", file, "output file; '-' is standard output")
      .completed_by(Completes::kFile)
      .required();
  table.add_option("RUN", references, "@last, @ID, @git:REVISION (default: every run)")
      .completed_by(Completes::kRun)
      .take_all();
  const std::string& place = add_store_option(table);
  table.add_no_follow();
  table.finish([&] { return export_runs(place, file, references); });
  return table;
}

struct ImportOptions {
  std::string max_memory, machine, from;
  std::vector<std::string> files;
};

ExitCode import_files(const std::string& place, const ImportOptions& options, bool names_machine) {
  const auto& [max_memory, machine, from, files] = options;
  if (names_machine && (trimmed(machine).empty() || visible(machine) != machine || contains(machine, "\n")))
    throw Error("--machine " + quote(machine) + " is not a name: it must be printable and not empty");
  // Read all first: an error in the last file stores nothing.
  std::vector<std::vector<Record>> runs;
  for (const std::string& operand : files) {
    auto read = with_memory_limit(max_memory, operand, [&] { return results_of(operand, options.from); });
    for (FileResults& file : read) append_runs(std::move(file), machine, runs);
  }
  if (runs.empty()) throw Error("no result in " + join(files, ", "));
  const auto store = open_store(place);
  std::size_t added = 0;
  for (const std::vector<Record>& run : runs) added += store->append_if_new(run).has_value() ? 1 : 0;
  print_text(fmt::format("{} added to {}, {} already there\n", counted(added, "run"), store->name(),
                         runs.size() - added),
             stdout);
  return ExitCode::kSuccess;
}

OptionTable history_import_options() {
  OptionTable table("Add files of results to the history; runs already in it are skipped.",
                    "headroom history import");
  auto& options = table.own<ImportOptions>();
  table.examples(
      {{"headroom history import results/*.json", ""},
       {"headroom history import results", "all files of results in the folder and below it"},
       {"headroom history import --machine ci results", "one series, whatever the name of the container"},
       {"headroom history import all.json --store postgresql://me@server/benchmarks", ""}});
  table
      .add_option("FILE", options.files,
                  "files in any format that headroom reads; of a folder, all *.json, *.jsonl and *.csv")
      .completed_by(Completes::kFile)
      .required()
      .take_all();
  const Option& machine = table
                              .add_option("--machine", options.machine,
                                          "set the machine of all results, instead of the one in the "
                                          "files; each machine has its own series")
                              .type_name("NAME");
  declare_format(table, options.from);
  const std::string& place = add_store_option(table);
  table.add_no_follow();
  declare_max_memory(table, options.max_memory);
  table.finish([&] { return import_files(place, options, machine.count > 0); });
  return table;
}

/// `keep` may be an age. Nullopt: not given.
PruneRule prune_rule(const std::optional<std::string>& keep, std::optional<std::string> age) {
  PruneRule rule;
  if (const auto count = keep ? to_integer(*keep) : std::nullopt; count && *count > 0) {
    rule.keep_last = static_cast<std::size_t>(*count);
  } else if (keep && !to_age(*keep)) {
    throw Error("--keep " + quote(*keep) +
                " is neither a number of results from 1 on nor an age: 500, 36h, 90d, 12w, 1y");
  } else if (keep && age) {
    throw Error("--keep " + quote(*keep) + " is an age, as --older-than " + quote(*age) + ": give one");
  } else if (keep) {
    age = keep;
  }
  if (!age) return rule;
  const auto seconds = to_age(*age);
  if (!seconds)
    throw Error("--older-than " + quote(*age) +
                " is not an age; give hours, days, weeks or years: 36h, 90d, 12w, 1y");
  const std::uint64_t present = now();
  rule.older_than = present > *seconds ? present - *seconds : 0;
  return rule;
}

OptionTable history_prune_options() {
  OptionTable table("Remove old results from the history.", "headroom history prune");
  auto& keep = table.own<std::string>();
  auto& age = table.own<std::string>();
  table.examples({{"headroom history prune --keep 500", "keep the newest 500 results of each series"},
                  {"headroom history prune --older-than 90d", "remove results older than 90 days"}});
  const Option& keep_option =
      table
          .add_option("--keep", keep,
                      "number of newest results to keep of each series; or an age: as --older-than")
          .type_name("N");
  const Option& age_option =
      table.add_option("--older-than", age, "remove results older than this: 36h, 90d, 12w, 1y");
  const std::string& place = add_store_option(table);
  table.add_no_follow();
  table.finish([&] {
    if (keep_option.count + age_option.count == 0)
      throw Error("no rule for pruning; give --keep N or --older-than AGE (headroom history prune --help)");
    const auto given = [](const Option& option, const std::string& text) {
      return option.count > 0 ? std::optional(text) : std::nullopt;
    };
    const PruneRule rule = prune_rule(given(keep_option, keep), given(age_option, age));
    // Pruning must not create a history.
    open_store(place, StoreAccess::kRead);
    const auto store = open_store(place);
    const PruneResult result = store->prune(rule);
    print_text(fmt::format("{} removed from {}, and {} without results\n", counted(result.records, "result"),
                           store->name(), counted(result.runs, "run")),
               stdout);
    return ExitCode::kSuccess;
  });
  return table;
}

OptionTable history_verify_options() {
  OptionTable table("Check the stored history against its digests.", "headroom history verify");
  table.examples({{"headroom history verify", ""}});
  table.details({"exit codes: 0 no damage, 1 damage found"});
  const std::string& place = add_store_option(table);
  table.finish([&place] {
    const auto store = open_store(place, StoreAccess::kRead);
    const std::vector<StoreDamage> damages = store->verify();
    std::string text;
    for (const StoreDamage& damage : damages) text += damage.what + "\n";
    text += damages.empty()
                ? fmt::format("{}: no damage in {}\n", store->name(), counted(store->runs().size(), "run"))
                : fmt::format("{}: {}; headroom history repair removes or repairs them\n", store->name(),
                              counted(damages.size(), "problem"));
    print_text(text, stdout);
    return damages.empty() ? ExitCode::kSuccess : ExitCode::kFailure;
  });
  return table;
}

OptionTable history_repair_options() {
  OptionTable table(
      "Repair the history: remove unreadable entries, restore those that are stored redundantly.",
      "headroom history repair");
  table.examples(
      {{"headroom history repair", "copies a history file first, and prints the name of the copy"}});
  const std::string& place = add_store_option(table);
  table.add_no_follow();
  table.finish([&place] {
    open_store(place, StoreAccess::kRead);
    const auto store = open_store(place);
    const RepairResult result = store->repair();
    if (!result.copy.empty()) print_message("the history before the repair is in {}", result.copy);
    print_text(fmt::format("{}: {} and {} removed, {}, {} and {} series repaired\n", store->name(),
                           counted(result.runs_removed, "run"), counted(result.records_removed, "result"),
                           counted(result.records_mended, "result"), counted(result.runs_mended, "run"),
                           result.series_mended),
               stdout);
    return ExitCode::kSuccess;
  });
  return table;
}

}  // namespace

OptionTable history_options(Arguments& arguments) {
  constexpr std::pair<const char*, OptionTable (*)()> kActions[] = {
      {"export", history_export_options}, {"gate", history_gate_options},
      {"import", history_import_options}, {"prune", history_prune_options},
      {"repair", history_repair_options}, {"verify", history_verify_options},
      {"views", history_views_options}};
  for (const auto& [name, options] : kActions) {
    if (arguments.empty() || arguments.front() != name) continue;
    arguments.erase(arguments.begin());
    return options();
  }
  return history_show_options();
}

std::vector<CommandWord> history_words() {
  return {{"export", "write runs of the history to a file of records"},
          {"gate", "exit with 1 if a series became worse lately"},
          {"import", "add files of results to the history"},
          {"prune", "remove old results"},
          {"repair", "repair or remove damaged entries"},
          {"verify", "check the history for damage"},
          {"views", "create or update the views that Grafana reads"}};
}

}  // namespace headroom::cli
