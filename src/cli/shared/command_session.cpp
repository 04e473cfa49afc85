// SPDX-License-Identifier: Apache-2.0
#include "cli/shared/command_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>

#include "cli/shared/busy_warning.h"
#include "cli/shared/interrupt.h"
#include "cli/shared/print_table.h"
#include "cli/shared/record_files.h"
#include "cli/shared/run_journal.h"
#include "cli/shared/say.h"
#include "cli/shared/shown_records.h"
#include "cli/shared/terminal_progress.h"
#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/text.h"
#include "headroom/command/command_records.h"
#include "headroom/command/command_rounds.h"
#include "headroom/compare/round_verdict.h"
#include "headroom/machine/fingerprint.h"
#include "headroom/record/formats.h"

namespace headroom::cli {
namespace {

constexpr const char* kStdoutFile = "/dev/stdout";
constexpr std::size_t kShownTitle = 40;

double now_ns() {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// --json, --oss and --export.
class CommandFiles {
 public:
  explicit CommandFiles(const CommandOptions& options) : files_(options.json, options.oss) {
    for (const auto& [format, file] : options.exports) {
      const std::string path = file == "-" ? kStdoutFile : file;
      const auto same = [&](const Export& other) { return other.path == path && !other.format->appends; };
      if (file == options.json || file == options.oss || std::ranges::any_of(exports_, same)) {
        throw Error("--export " + format + " names the same file as another output, " + in_quotes(file) +
                    ": give each its own");
      }
      exports_.push_back({&format_named(format), path});
      require_writable(exports_.back().path);
    }
  }

  void write_so_far(const std::vector<Record>& records) const {
    write_each({[&] { files_.write_so_far(records); },
                [&] { write_exports(records, [](const Export& file) { return !file.at_end(); }); }});
  }
  void finish(const std::vector<Record>& records) const {
    write_each({[&] { files_.finish(records); },
                [&] { write_exports(records, [](const Export&) { return true; }); }});
  }
  bool uses_stdout() const {
    return files_.uses_stdout() ||
           std::ranges::any_of(exports_, [](const Export& file) { return file.path == kStdoutFile; });
  }

 private:
  struct Export {
    const Format* format;
    std::string path;
    bool at_end() const { return format->appends || path == kStdoutFile; }
  };

  /// Some formats cannot hold that nothing was measured.
  template <typename Chosen>
  void write_exports(const std::vector<Record>& records, Chosen chosen) const {
    if (std::ranges::all_of(records, [](const Record& record) { return record.samples.empty(); })) return;
    for (const Export& file : exports_) {
      if (chosen(file)) write_records(file.path, *file.format, records);
    }
  }

  RecordFiles files_;
  std::vector<Export> exports_;
};

/// Shows where the rounds are, also in the middle of a long run.
class CommandWatch {
 public:
  CommandWatch(TerminalProgress& terminal, const CommandOptions& options, std::size_t groups)
      : terminal_(terminal) {
    shown_.groups = groups;
    shown_.phase = "sampling";
    shown_.goal = options.stop.precision;
    shown_.max_time_ns = options.stop.max_time_ns;
  }

  void begin(std::size_t group) {
    shown_.group = group;
    began_ns_ = now_ns();
  }
  void show(const CommandProgress& progress) {
    shown_.title = progress.command.size() > kShownTitle ? progress.command.substr(0, kShownTitle) + "…"
                                                         : progress.command;
    shown_.rounds = progress.rounds;
    shown_.median_ns = progress.median_ns;
    shown_.worst_half_width = progress.half_width;
    tick();
  }
  void tick() {
    shown_.elapsed_ns = now_ns() - began_ns_;
    terminal_.progress(shown_);
  }

 private:
  TerminalProgress& terminal_;
  Progress shown_;
  double began_ns_ = now_ns();
};

std::shared_ptr<const Environment> environment_of(const std::vector<std::string>& command,
                                                  const CommandOptions& options,
                                                  const ChildCounters& counters) {
  Environment environment = read_environment(command);
  environment.extra_info["seed"] = std::to_string(options.seed);
  environment.extra_info[kMarginKey] = fmt::format("{}", options.margin);
  environment.extra_info["precision"] = fmt::format("{:g}", options.stop.precision);
  environment.extra_info["max_time_s"] = fmt::format("{:g}", options.stop.max_time_ns / 1e9);
  environment.extra_info["shell"] = options.shell.empty() ? "none" : options.shell;
  environment.extra_info["env_random"] = options.random_environment ? "true" : "false";
  if (!counters.any()) environment.extra_info["hardware_counters"] = "none: " + counters.absence();
  if (counters.any() && counters.of_user_space())
    environment.extra_info["hardware_counters"] = "user space only";
  return std::make_shared<const Environment>(std::move(environment));
}

CommandRoundSettings settings_of(const CommandOptions& options, std::size_t least_rounds, CommandWatch& watch,
                                 RunJournal& journal) {
  CommandRoundSettings settings;
  settings.stop = options.stop;
  settings.min_rounds = options.min_rounds.value_or(least_rounds);
  settings.exact_rounds = options.exact_rounds;
  settings.margin = options.until_decided ? options.margin : 0;
  settings.ignore_failure = options.ignore_failure;
  settings.random_environment = options.random_environment;
  settings.seed = options.seed;
  settings.now_ns = now_ns;
  settings.is_interrupted = [&watch] {
    watch.tick();
    return interrupt_count() > 0;
  };
  settings.is_hurried = [&watch] {
    watch.tick();
    return interrupt_count() > 1;
  };
  settings.on_round = [&journal](const CommandGroup& so_far) { journal.note(so_far); };
  return settings;
}

std::size_t count_comparisons(const std::vector<std::vector<PlannedCommand>>& groups) {
  std::size_t count = 0;
  for (const std::vector<PlannedCommand>& group : groups) count += group.size() - 1;
  return count;
}

}  // namespace

ExitCode measure_commands(const std::vector<std::vector<PlannedCommand>>& groups,
                          const CommandOptions& options, const std::vector<std::string>& command) {
  const CommandFiles files(options);
  const std::atomic<int>& interrupts = interrupt_count();
  ChildCounters counters;
  const auto environment = environment_of(command, options, counters);
  RunJournal journal;
  journal.begin(*environment);
  std::vector<Record> records;
  std::size_t measured = 0;
  const std::size_t least_rounds = fewest_rounds(count_comparisons(groups));
  {
    TerminalProgress terminal([](const std::vector<Record>&) {});
    CommandWatch watch(terminal, options, groups.size());
    for (const std::vector<PlannedCommand>& group : groups) {
      if (interrupts > 0) break;
      watch.begin(measured);
      CommandRounds rounds(group, settings_of(options, least_rounds, watch, journal), counters,
                           [&](const CommandProgress& progress) { watch.show(progress); });
      CommandGroup run;
      QuotaWatch quota;
      const auto load = load_beside([&] { run = rounds.run(); });
      std::vector<Record> finished = command_records(run, environment);
      note_busy(finished, load);
      quota.note(finished);
      journal.finish_group(finished);
      records.insert(records.end(), finished.begin(), finished.end());
      ++measured;
      write_if_possible([&] { files.write_so_far(records); });
    }
  }
  // Records on standard output are for a program to read: the table makes way.
  print_sheet(shown_commands(records), files.uses_stdout() ? stderr : stdout, options.markdown);
  keep_results(records, options.store, journal, [&] { files.finish(records); });
  if (interrupts > 0) return tell_interrupted();
  return any_outcome(records, Outcome::Kind::kFailed) ? ExitCode::kNo : ExitCode::kFine;
}

}  // namespace headroom::cli
