// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <string>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom/console/output.h"
#include "headroom/tables/table.h"
#include "headroom_trace/program/analyze.h"
#include "headroom_trace/program/trace_actions.h"
#include "headroom_trace/program/trace_options.h"

namespace headroom::cli {
namespace {

constexpr TraceAction kActions[] = {
    {"diff", "A B", "two traces: which kernels and ops came, went, and take longer", trace_diff},
    {"convert", "IN OUT", "a clean Chrome trace, or its events as CSV", trace_convert},
    {"merge", "FILE... -o OUT", "one trace of the ranks of a job, their clocks aligned", trace_merge},
};

std::string option_text(const trace::AnalysisOption& option) {
  std::string text = std::string("--") + option.name;
  if (option.value[0] != '\0') text += std::string(" ") + option.value;
  if (option.default_text[0] != '\0') text += std::string(" (") + option.default_text + ")";
  return text;
}

Json list_json() {
  Json list = Json::array();
  for (const trace::Analysis* analysis : trace::analyses()) {
    Json options = Json::array();
    for (const trace::AnalysisOption& option : analysis->options) {
      options.push_back({{"name", option.name},
                         {"value", option.value},
                         {"default", option.default_text},
                         {"help", option.help}});
    }
    list.push_back({{"name", analysis->name}, {"summary", analysis->summary}, {"options", options}});
  }
  return list;
}

ExitCode list(const std::string& json) {
  if (!json.empty())
    write_file_atomically(json == "-" ? "/dev/stdout" : json, dump_json_pretty(list_json()) + "\n");
  if (json == "-") return ExitCode::kFine;
  Table table({{"analysis"}, {"what it shows"}, {"options (defaults)"}});
  for (const trace::Analysis* analysis : trace::analyses()) {
    table.row({analysis->name, analysis->summary});
    for (const trace::AnalysisOption& option : analysis->options) table.row({"", "", option_text(option)});
  }
  print_table(table, stdout);
  return ExitCode::kFine;
}

}  // namespace

ExitCode trace(const Arguments& arguments) {
  const std::size_t place = first_operand(arguments);
  for (const TraceAction& action : kActions) {
    if (place >= arguments.size() || arguments[place] != action.name) continue;
    Arguments rest = arguments;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(place));
    return action.run(rest);
  }
  ExitCode done = ExitCode::kFine;
  const std::optional<TraceOptions> options = parse_trace_options(arguments, kActions, done);
  if (!options) return done;
  return options->list ? list(options->outputs.json) : analyze_traces(*options);
}

std::vector<CommandWord> trace_words() {
  std::vector<CommandWord> words;
  for (const trace::Analysis* analysis : trace::analyses())
    words.push_back({analysis->name, analysis->summary});
  for (const TraceAction& action : kActions) words.push_back({action.name, action.summary});
  return words;
}

}  // namespace headroom::cli
