// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/program/trace_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/console/interrupt.h"
#include "headroom/console/max_memory.h"
#include "headroom/console/option_table.h"
#include "headroom/history/store.h"
#include "headroom/process/affinity.h"
#include "headroom/results/record_files.h"

namespace headroom::cli {
namespace {

constexpr std::chrono::milliseconds kQuiet{500}, kRedraw{100};

std::string line_of(const trace::FilesProgress& progress) {
  std::string line = "reading " + format_bytes(static_cast<double>(progress.bytes_done));
  if (progress.bytes > 0) {
    line += " of " + format_bytes(static_cast<double>(progress.bytes));
    line += fmt::format(" ({:.0f} %)",
                        100 * static_cast<double>(progress.bytes_done) / static_cast<double>(progress.bytes));
  }
  if (progress.files > 1) line += fmt::format(", {} of {} files done", progress.files_done, progress.files);
  return line;
}

constexpr const char* kDefaultAnalysis = "summary";

struct RawTraceOptions {
  std::int64_t top = 20;
  bool keep = false, no_store = false;
  /// Of the analysis. Deques: references must stay valid.
  std::deque<std::string> texts;
  std::deque<bool> flags;
  std::vector<const Option*> own;
};

constexpr const char* kValued[] = {"--json",    "--csv",        "--name",          "--store", "--top",
                                   "--threads", "--max-memory", "--communication", "--color"};

const trace::Analysis& default_analysis() {
  const trace::Analysis* summary = trace::find_analysis(kDefaultAnalysis);
  return summary != nullptr ? *summary : *trace::analyses().front();
}

void declare(OptionTable& table, RawTraceOptions& raw, TraceOptions& options) {
  table
      .add_option(
          "FILE", options.operands,
          "traces; several files, a folder or a pattern are the ranks of one job ('-': standard input)")
      .completed_by(Completes::kFile)
      .take_all();
  declare_outputs(table, options.outputs);
  table.add_option("--top", raw.top, "show at most N rows of long tables (default 20; 0: all)")
      .type_name("N")
      .range(0, std::int64_t{1} << 40);
  declare_reading(table, options.reading);
  declare_communication(table, options.reading);
  table.add_option("--name", options.name, "name the program in the records (default: the file name)");
  table.add_flag("--keep", raw.keep, "keep the results in the history (HEADROOM_STORE, or the user's)");
  table.add_option("--store", options.store, "keep the results in this history")
      .completed_by(Completes::kFile);
  table.add_flag("--no-store", raw.no_store, "keep no history (default)");
}

void declare_own(OptionTable& table, RawTraceOptions& raw, const trace::Analysis& analysis) {
  for (const trace::AnalysisOption& option : analysis.options) {
    std::string help = option.help;
    if (option.default_text[0] != '\0') help += fmt::format(" (default {})", option.default_text);
    std::string& text = raw.texts.emplace_back();
    bool& flag = raw.flags.emplace_back(false);
    const std::string name = std::string("--") + option.name;
    Option& declared = option.value[0] == '\0' ? table.add_flag(name, flag, help)
                                               : table.add_option(name, text, help).type_name(option.value);
    declared.in_group(std::string("Options of ") + analysis.name);
    raw.own.push_back(&declared);
  }
}

void take_own(const RawTraceOptions& raw, TraceOptions& options) {
  for (std::size_t i = 0; i < options.analysis->options.size(); ++i) {
    const trace::AnalysisOption& option = options.analysis->options[i];
    if (raw.own[i]->count == 0) continue;
    if (option.value[0] == '\0' && !raw.flags[i]) continue;
    options.values.set(option.name, raw.texts[i]);
    options.given.push_back(raw.own[i]->names);
    if (option.value[0] != '\0') options.given.push_back(raw.texts[i]);
  }
}

void list_analyses(OptionTable& table, std::span<const TraceAction> actions) {
  for (const trace::Analysis* analysis : trace::analyses())
    table.list("analyses (first word; default: summary)", analysis->name, analysis->summary);
  for (const TraceAction& action : actions)
    table.list("other first words", fmt::format("{} {}", action.name, action.operands), action.summary);
}

constexpr ConstantHelp kTraceExamples[] = {
    {"headroom trace trace.json.gz", "step time, GPU idle time, main causes"},
    {"headroom trace kernels --top 0 --csv kernels.csv trace.json", "all kernels, as a table"},
    {"headroom trace utilization job/", "a folder of ranks: a row each, and their spread"},
    {"headroom trace --name gpt --json new.json 'job/rank*.json.gz'", "for headroom diff old.json new.json"},
};

void describe_all(OptionTable& table, std::span<const TraceAction> actions) {
  list_analyses(table, actions);
  table.details(
      {"headroom trace ANALYSIS --help shows the options of an analysis.",
       "exit codes: 0 success, 1 validate found problems, 2 a file could not be read, 130 interrupted"});
  table.examples(kTraceExamples);
}

void describe(OptionTable& table, const trace::Analysis& analysis) {
  const std::string command = std::string("headroom trace ") + analysis.name;
  table.example(command + " trace.json.gz");
  for (const trace::AnalysisOption& option : analysis.options) {
    const std::string_view usual = option.default_text;
    if (usual.empty() || usual.find(' ') != std::string_view::npos) continue;
    table.example(fmt::format("{} --{} {} trace.json.gz", command, option.name, option.default_text));
  }
  table.example(command + " --json - 'job/rank*.json.gz'", "the ranks of a job");
}

bool looks_like_path(const std::string& word) {
  std::error_code none;
  return word.find_first_of("/.*?[") != std::string::npos || word == "-" ||
         std::filesystem::exists(word, none);
}

[[noreturn]] void refuse_word(const std::string& word, std::span<const TraceAction> actions) {
  std::vector<std::string> names;
  for (const trace::Analysis* analysis : trace::analyses()) names.emplace_back(analysis->name);
  for (const TraceAction& action : actions) names.emplace_back(action.name);
  throw Error(fmt::format("{} is neither an analysis nor a file{}; headroom trace --list shows the analyses",
                          quote(word), did_you_mean(word, names)));
}

/// PyTorch's form, where the operand of --json is the trace.
void parse_trace_json_option(TraceOptions& options) {
  std::string& json = options.outputs.json;
  if (!options.values.flag("pytorch-compat") || !options.operands.empty() || json.empty() || json == "-")
    return;
  options.operands.push_back(std::exchange(json, "-"));
}

void check(const TraceOptions& options) {
  if (options.operands.empty() && !options.list)
    throw Error("no trace given: headroom trace [ANALYSIS] FILE...; headroom trace --help shows more");
}

}  // namespace

TraceProgress::TraceProgress() : next_(std::chrono::steady_clock::now() + kQuiet) {}

void TraceProgress::show(const trace::FilesProgress& progress) {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + kRedraw;
  line_.draw(line_of(progress), "", "");
}

void declare_reading(OptionTable& table, TraceReading& reading) {
  table.add_option("--threads", reading.threads, "read with N threads (default: all CPUs of this process)")
      .type_name("N")
      .range(1, 4096);
  declare_max_memory(table, reading.max_memory);
}

void declare_communication(OptionTable& table, TraceReading& reading) {
  table
      .add_option("--communication", reading.communication,
                  "count kernels of these names as communication, in every analysis (* matches any "
                  "characters; separate by commas or repeat the option)")
      .type_name("PATTERN")
      .delimiter(',')
      .repeated();
}

trace::FilesOptions files_options(const TraceReading& reading, TraceProgress& progress) {
  trace::FilesOptions how;
  how.communication_patterns = reading.communication;
  how.threads = reading.threads > 0 ? reading.threads : static_cast<int>(allowed_cpus().size());
  how.progress = [&progress](const trace::FilesProgress& now) { progress.show(now); };
  how.is_cancelled = [] { return interrupt_flag().load(); };
  return how;
}

void declare_outputs(OptionTable& table, TraceOutputOptions& outputs) {
  table.add_no_follow();
  table.add_option("--json", outputs.json, "also write records and tables to FILE; - is standard output")
      .completed_by(Completes::kFile)
      .type_name("FILE");
  table
      .add_option("--csv", outputs.csv,
                  "also write the first table to FILE, and each other one to FILE with its key before the "
                  "ending; - is standard output for all")
      .completed_by(Completes::kFile)
      .type_name("FILE");
  table.add_flag("--markdown", outputs.markdown, "print tables in Markdown");
  table.add_flag("--whole-names", outputs.full_names, "print long names in full");
}

std::size_t first_operand(const Arguments& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "-" || !argument.starts_with("-")) return i;
    if (argument == "--") return i + 1;
    if (std::ranges::find(kValued, argument) != std::end(kValued)) ++i;
  }
  return arguments.size();
}

OptionTable analysis_options(Arguments& arguments, std::span<const TraceAction> actions,
                             std::function<ExitCode(const TraceOptions&)> analyze) {
  const std::size_t place = first_operand(arguments);
  const std::string word = place < arguments.size() ? arguments[place] : "-";
  const trace::Analysis* found = trace::find_analysis(word);
  const bool named = found != nullptr;
  if (!named && !looks_like_path(word)) refuse_word(word, actions);
  if (named) arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(place));
  const trace::Analysis& analysis = named ? *found : default_analysis();

  OptionTable table(
      named ? analysis.summary : "Show what the GPUs did in a profiler trace (Chrome JSON, plain or packed).",
      named ? fmt::format("headroom trace {}", analysis.name) : "headroom trace [ANALYSIS]");
  if (named) {
    describe(table, analysis);
  } else {
    describe_all(table, actions);
  }
  auto& options = table.own<TraceOptions>();
  options.analysis = &analysis;
  auto& raw = table.own<RawTraceOptions>();
  // The last of a repeated option wins: users override a script's defaults.
  declare(table, raw, options);
  if (!named)
    table.add_flag("--list", options.list, "list the analyses with their options, and read nothing");
  declare_own(table, raw, analysis);
  table.finish([&options, &raw, analyze = std::move(analyze)] {
    take_own(raw, options);
    for (const std::string& pattern : options.reading.communication) {
      if (pattern.empty()) throw Error("--communication: give a kernel name or a pattern");
      options.given.insert(options.given.end(), {"--communication", pattern});
    }
    options.values.top = static_cast<std::size_t>(raw.top);
    if (raw.keep && options.store.empty()) options.store = default_store();
    if (raw.no_store) options.store.clear();
    parse_trace_json_option(options);
    check(options);
    return analyze(options);
  });
  return table;
}

}  // namespace headroom::cli
