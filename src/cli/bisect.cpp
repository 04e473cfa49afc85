// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/measuring/measurement.h"
#include "cli/measuring/progress.h"
#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/fnv.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/command/command_line.h"
#include "headroom/command/command_records.h"
#include "headroom/command/command_rounds.h"
#include "headroom/command/git_commits.h"
#include "headroom/compare/verdict.h"
#include "headroom/console/interrupt.h"
#include "headroom/console/option_table.h"
#include "headroom/console/output.h"
#include "headroom/report/metric_text.h"
#include "headroom/results/shown_records.h"
#include "headroom/stats/bisection.h"

namespace headroom::cli {
namespace {

struct BisectOptions {
  std::string command, git, build, list, checkout;
  bool shell = false;
  double margin = 0.01, confidence = 0.95, max_time_ns = 600e9;
  std::uint64_t seed = 1;
  std::string json, oss, store;
};

/// A commit, or a line of --list.
struct Version {
  std::string key;  ///< hash, or the line
  std::string title;
  GitCommit commit{};
  std::string prepare{};  ///< shell line before each run
  std::filesystem::path folder{};
  std::string failure{};  ///< why it cannot be measured
  bool is_ready = false;
};

std::vector<Version> listed_versions(const BisectOptions& options) {
  if (options.checkout.find("{}") == std::string::npos)
    throw Error(
        "--list needs --checkout with {} for a line of the file, such as --checkout 'pip install foo=={}'");
  std::vector<Version> versions;
  for (const std::string& line : split(read_file(options.list), '\n')) {
    if (line.empty() || line.front() == '#') continue;
    Version version{.key = line, .title = line, .is_ready = true};
    version.prepare = options.checkout;
    const std::string word = quoted_word(line);
    for (std::size_t at = 0; (at = version.prepare.find("{}", at)) != std::string::npos; at += word.size())
      version.prepare.replace(at, 2, word);
    versions.push_back(std::move(version));
  }
  if (versions.size() < 2) throw Error(options.list + ": needs two lines at least, the oldest version first");
  return versions;
}

std::vector<Version> commit_versions(const GitCommits& repository, const std::string& range) {
  std::vector<Version> versions;
  for (GitCommit& commit : repository.range(range)) {
    Version& version = versions.emplace_back();
    version.key = commit.sha;
    version.title = commit.title();
    version.commit = std::move(commit);
  }
  return versions;
}

/// Logarithms of the times of the versions in a round.
struct Round {
  std::size_t version;  ///< the middle one; 0: only the ends
  double first, middle, last;
};

/// Rounds of earlier, interrupted searches with the same versions and command.
class SearchFile {
 public:
  SearchFile(const BisectOptions& options, const std::vector<Version>& versions) {
    Fnv1a sum;
    for (const std::string& part : {options.command, options.build, options.checkout}) sum.add(part + '\n');
    for (const Version& version : versions) sum.add(version.key + '\n');
    path_ = user_cache_folder() / "bisect" / fmt::format("{:016x}.json", sum.value());
  }

  std::vector<Round> read() const {
    std::vector<Round> rounds;
    const std::string text = read_file_or_empty(path_);
    if (text.empty()) return rounds;
    for (const Json& one : parse_json(text, path_.string())) {
      if (one.size() != 4) throw Error(path_.string() + ": is damaged; remove it to search anew");
      rounds.push_back(
          {one[0].get<std::size_t>(), one[1].get<double>(), one[2].get<double>(), one[3].get<double>()});
    }
    return rounds;
  }
  void write(const std::vector<Round>& rounds) const {
    Json json = Json::array();
    for (const Round& one : rounds)
      json.push_back(Json::array({one.version, one.first, one.middle, one.last}));
    make_folders_above(path_);
    write_file_atomically(path_, dump_json(json));
  }
  void remove() const {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

 private:
  std::filesystem::path path_;
};

enum class Outlook { kUnknown, kNoChange, kChange };

class Search final : public Measurement {
 public:
  Search(const BisectOptions& options, const Arguments& arguments)
      : Measurement(RecordFiles(options.json, options.oss), options.store),
        options_(options),
        repository_(options.git.empty() ? std::nullopt : std::optional<GitCommits>(".")),
        versions_(repository_ ? commit_versions(*repository_, options.git) : listed_versions(options)),
        tracks_(versions_.size()),
        search_(versions_.size()),
        file_(options, versions_) {
    Environment environment = measuring_environment("bisect", arguments, options.seed, options.max_time_ns);
    environment.extra_info[kMarginKey] = fmt::format("{}", options.margin);
    environment.options.margin = options.margin;
    environment_ = std::make_shared<const Environment>(std::move(environment));
  }

 private:
  static constexpr std::size_t kRoundsAtOnce = 4;

  void measure() override {
    journal().begin(*environment_);
    end_ns_ = steady_now_ns() + options_.max_time_ns;
    for (const std::size_t end : {std::size_t{0}, versions_.size() - 1}) {
      prepare(end);
      if (!versions_[end].is_ready)
        throw Error(versions_[end].title + " cannot be measured: " + versions_[end].failure);
    }
    resume();
    compare_ends();
    while (outlook_ == Outlook::kChange && !is_named() && !is_over()) {
      const std::optional<std::size_t> version = search_.next();
      if (!version) break;
      prepare(*version);
      if (versions_[*version].is_ready) measure_between(*version);
      if (!versions_[*version].is_ready) {
        print_message("left out: {}: {}", versions_[*version].title, versions_[*version].failure);
        search_.exclude(*version);
      }
    }
    if (is_named() || outlook_ == Outlook::kNoChange) file_.remove();
    replace(command_records(group(), environment_));
  }

  bool is_over() const { return interrupt_count() > 0 || steady_now_ns() >= end_ns_; }
  bool is_named() const { return search_.likeliest().share >= options_.confidence; }

  void prepare(std::size_t index) {
    Version& version = versions_[index];
    if (version.is_ready || !version.failure.empty() || !repository_) return;
    print_message("building {}", version.title);
    const double start_ns = steady_now_ns();
    GitCommits::Tree tree =
        repository_->build(version.commit, options_.build, [] { return interrupt_count() > 0; });
    end_ns_ += steady_now_ns() - start_ns;
    version.folder = std::move(tree.folder);
    version.failure = std::move(tree.failure);
    version.is_ready = version.failure.empty();
  }

  void resume() {
    rounds_ = file_.read();
    std::erase_if(rounds_, [&](const Round& one) { return one.version + 1 >= versions_.size(); });
    for (const Round& one : rounds_) add(one);
    if (!rounds_.empty())
      print_message("goes on with {} of an earlier search", counted(rounds_.size(), "round"));
  }

  void add(const Round& one) {
    if (one.version == 0)
      search_.add_ends(one.first, one.last);
    else
      search_.add(one.version, one.first, one.middle, one.last);
  }

  PlannedCommand planned(std::size_t index) const {
    const Version& version = versions_[index];
    PlannedCommand command;
    command.name = command.line = options_.command;
    command.title = version.title;
    command.parameters = {{"version", repository_ ? version.commit.short_sha() : version.key}};
    command.prepare = version.prepare;
    command.spec.arguments =
        options_.shell ? shell_arguments(options_.command) : split_command_line(options_.command);
    command.spec.folder = version.folder;
    return command;
  }

  GroupResult run_rounds(const std::vector<std::size_t>& indices, CommandRoundSettings settings) {
    std::vector<PlannedCommand> commands;
    for (const std::size_t index : indices) commands.push_back(planned(index));
    settings.margin = options_.margin;
    settings.seed = options_.seed + rounds_.size();
    settings.end_ns = end_ns_;
    settings.out_of_time = not_reached_text(options_.max_time_ns);
    settings.is_interrupted = [] { return interrupt_count() > 0; };
    settings.is_hurried = [] { return interrupt_count() > 1; };
    TerminalProgress terminal([](const std::vector<Record>&) {});
    GroupResult result =
        CommandRounds(std::move(commands), std::move(settings), counters_, [&](const Progress& progress) {
          terminal.progress(progress);
        }).run();
    keep(indices, result);
    return result;
  }

  void keep(const std::vector<std::size_t>& indices, const GroupResult& result) {
    std::map<std::uint32_t, std::vector<double>> logs;  // by round
    for (std::size_t i = 0; i < indices.size(); ++i) {
      std::optional<Track>& track = tracks_[indices[i]];
      if (!track) track = command_track(planned(indices[i]));
      if (track->readings.empty()) track->outcome = result.cases[i].outcome;
      for (Reading reading : result.cases[i].readings) {
        logs[reading.round].push_back(std::log(reading.ns));
        reading.round += next_round_;
        track->readings.push_back(std::move(reading));
      }
    }
    for (const auto& [round, values] : logs) {
      if (values.size() < indices.size()) continue;
      const bool is_between = indices.size() == 3;
      rounds_.push_back(
          {is_between ? indices[1] : 0, values.front(), is_between ? values[1] : 0, values.back()});
      add(rounds_.back());
    }
    if (!logs.empty()) next_round_ += logs.rbegin()->first + 1;
    file_.write(rounds_);
    journal().note(group());
  }

  void compare_ends() {
    const std::size_t last = versions_.size() - 1;
    CommandRoundSettings settings;
    settings.stop = {.precision = options_.margin / 2, .max_time_ns = options_.max_time_ns};
    const GroupResult result = run_rounds({0, last}, settings);
    for (const Track& track : result.cases) {
      if (track.outcome.kind == Outcome::Kind::kFailed)
        throw Error(track.info.notes.at("title") + " cannot be measured: " + track.outcome.reason);
      if (!track.alive()) return;
    }
    const std::vector<RoundComparison> judged = judged_commands(command_records(result, environment_));
    if (judged.empty()) return;
    ends_ = judged.front().comparison.ratio;
    if (judged.front().comparison.verdict == Verdict::kSame)
      outlook_ = Outlook::kNoChange;
    else if (is_significant(judged.front().comparison))
      outlook_ = Outlook::kChange;
  }

  void measure_between(std::size_t index) {
    CommandRoundSettings settings;
    settings.stop.max_samples = settings.min_rounds = kRoundsAtOnce;
    settings.exact_rounds = true;
    const GroupResult result = run_rounds({0, index, versions_.size() - 1}, settings);
    const Track& middle = result.cases[1];
    if (middle.outcome.kind != Outcome::Kind::kFailed) return;
    versions_[index].is_ready = false;
    versions_[index].failure = middle.outcome.reason;
  }

  /// All readings so far, oldest version first.
  GroupResult group() const {
    GroupResult all;
    all.of_commands = true;
    all.look = Look::kRunning;
    for (const std::optional<Track>& track : tracks_) {
      if (track) all.cases.push_back(*track);
    }
    return all;
  }

  View view() const override {
    View view;
    const std::string change =
        fmt::format("{} x the time of {} ({})", format_ratio(ends_ ? ends_->ratio : search_.ratio()),
                    versions_.front().title, interval_phrase(ends_ ? ends_->interval : std::nullopt));
    const std::string& last = versions_.back().title;
    if (outlook_ == Outlook::kNoChange) {
      view.answer(fmt::format("no change beyond {:g} %: {} takes {}", 100 * options_.margin, last, change));
    } else if (outlook_ == Outlook::kUnknown) {
      view.answer(fmt::format("inconclusive: {} takes {}; a longer --max-time decides more", last, change));
    } else {
      answer_change(view);
      view.answer(fmt::format("{} takes {}", last, change));
    }
    return view.table(command_table(records(), {})).notes(command_legend(records()));
  }

  void answer_change(View& view) const {
    const char* kind = search_.ratio() > 1 ? "slower" : "faster";
    const Bisection::Range found = is_named() ? search_.likeliest() : search_.range(options_.confidence);
    const std::string share = found.share >= 0.999 ? "probability over 99.9 %"
                                                   : fmt::format("probability {:.1f} %", 100 * found.share);
    if (found.begin == found.end) {
      view.answer(fmt::format("first {} version: {} ({})", kind, versions_[found.end].title, share),
                  Tone::kBold);
      return;
    }
    view.answer(
        fmt::format("the first {} version is one of {}: {} to {} ({})", kind, found.end - found.begin + 1,
                    versions_[found.begin].title, versions_[found.end].title, share),
        Tone::kBold);
  }

  ExitCode verdict() override {
    if (outlook_ == Outlook::kNoChange) return ExitCode::kFailure;
    const bool is_one =
        outlook_ == Outlook::kChange && is_named() && search_.likeliest().begin == search_.likeliest().end;
    return is_one ? ExitCode::kSuccess : ExitCode::kInconclusive;
  }

  const BisectOptions& options_;
  std::optional<GitCommits> repository_;
  std::vector<Version> versions_;
  std::vector<std::optional<Track>> tracks_;  ///< by version
  Bisection search_;
  SearchFile file_;
  std::vector<Round> rounds_;
  std::uint32_t next_round_ = 0;
  Outlook outlook_ = Outlook::kUnknown;
  std::optional<RatioEstimate> ends_;
  ChildCounters counters_;
  std::shared_ptr<const Environment> environment_;
  double end_ns_ = std::numeric_limits<double>::infinity();
};

constexpr ConstantHelp kBisectExamples[] = {
    {"headroom bisect --git v1.2..HEAD --build 'make -j4' ./bench", "which commit made it slower?"},
    {"headroom bisect --list versions.txt --checkout 'pip install -q numpy=={}' 'python bench.py'",
     "which of these releases?"},
};

}  // namespace

OptionTable bisect_options(Arguments& arguments) {
  OptionTable table("Find the commit that made a command slower or faster, with a stated probability.",
                    "headroom bisect");
  table.examples(kBisectExamples);
  table.details(
      {"First the two ends are compared, interleaved: without a change, nothing is searched. Then the "
       "version "
       "that tells most is measured between the two ends, in rounds, until one version is the first "
       "changed one with --confidence. Versions that do not build or fail are left out; a search that was "
       "interrupted goes on when it is started again.",
       "exit codes: 0 a version is named, 1 no change, 2 error, 3 only a range of versions, or "
       "inconclusive"});
  struct Texts {
    std::string margin, confidence, max_time;
    bool no_store = false;
  };
  auto& options = table.own<BisectOptions>();
  auto& texts = table.own<Texts>();
  table.add_option("COMMAND", options.command, "command to measure, in quotes").required();
  table.add_option("--git", options.git, "commits to search: main..HEAD, or main for the same")
      .type_name("RANGE");
  table.add_option("--build", options.build, "shell line that builds a commit, in a tree of its own; kept")
      .type_name("COMMAND");
  table.add_option("--list", options.list, "file of versions to search, a line each, the oldest first")
      .completed_by(Completes::kFile);
  table
      .add_option("--checkout", options.checkout,
                  "with --list: shell line before each run; {} is the version")
      .type_name("COMMAND");
  table.add_flag("--shell", options.shell, "run the command through /bin/sh");
  table.add_option("--margin", texts.margin, "largest change that counts as none (default 1%)");
  table.add_option("--confidence", texts.confidence, "probability at which a version is named (default 95%)")
      .type_name("PERCENT");
  table.add_option("--max-time", texts.max_time, "maximum measuring time (default 10min)");
  table.add_option("--seed", options.seed, "seed of the random order");
  declare_record_files(table, options.json, options.oss);
  declare_store(table, options.store, texts.no_store);
  table.finish([&options, &texts, all = arguments] {
    if (options.git.empty() == options.list.empty())
      throw Error("give the versions to search: --git RANGE, or --list FILE with --checkout LINE");
    if (options.git.empty() && !options.build.empty())
      throw Error("--build needs --git: --checkout is for --list");
    if (!options.git.empty() && !options.checkout.empty())
      throw Error("--checkout needs --list: --build is for --git");
    if (!texts.margin.empty()) options.margin = parse_margin(texts.margin);
    if (!texts.confidence.empty()) {
      options.confidence = with_context("--confidence", [&] { return parse_share(texts.confidence); });
      if (!(options.confidence >= 0.5 && options.confidence < 1))
        throw Error("--confidence " + texts.confidence +
                    " must be from 50 % to below 100 %, for example 95%");
    }
    if (!texts.max_time.empty())
      options.max_time_ns = with_context("--max-time", [&] { return parse_time_ns(texts.max_time); });
    resolve_store(options.store, texts.no_store);
    return Search(options, all).run();
  });
  return table;
}

}  // namespace headroom::cli
