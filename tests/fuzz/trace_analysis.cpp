// SPDX-License-Identifier: Apache-2.0
// fuzz_trace_analysis --analysis=NAME: any options, one to three ranks, all outputs; also `convert` (must
// write strict JSON with the same events) and `diff`.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "fuzz_checks.h"
#include "generated_trace.h"
#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom_trace/analysis.h"
#include "headroom_trace/index/trace_index.h"
#include "headroom_trace/readers/convert.h"
#include "headroom_trace/report/file_analysis.h"
#include "headroom_trace/report/trace_diff.h"
#include "headroom_trace/report/trace_report.h"

namespace headroom::trace {
namespace {

constexpr std::string_view kOptionValues[] = {"name", "type",   "shape",  "op",   "stack",  "all", "self-cpu",
                                              "cpu",  "device", "calls",  "0",    "1",      "2",   "-1",
                                              "5",    "1e300",  "1us",    "30us", "100s",   "1%",  "100%",
                                              "H100", "MI300X", "989e12", "nan",  "forward"};

std::vector<std::string> traces_of(Choices& choices) {
  const std::string_view text = choices.rest();
  if (text.starts_with('{') || text.starts_with('[')) return {std::string(text)};
  const std::size_t ranks = 1 + choices.byte() % 3;
  const std::string_view rest = choices.rest();
  std::vector<std::string> traces;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const std::string_view share = rest.substr(rank * rest.size() / ranks, rest.size() / ranks);
    Choices own({reinterpret_cast<const std::uint8_t*>(share.data()), share.size()});
    traces.push_back(generated_trace(own, static_cast<int>(rank)));
  }
  return traces;
}

AnalysisOptions options_of(const Analysis& analysis, Choices& choices) {
  AnalysisOptions options;
  options.top = choices.byte() % 4;
  for (const AnalysisOption& option : analysis.options) {
    if (choices.byte() % 3 != 0) continue;
    options.set(option.name, option.value[0] == '\0' ? "" : std::string(choices.one_of(kOptionValues)));
  }
  return options;
}

void show(TraceReport& report) {
  static_cast<void>(trace_view(report.result).text());
  static_cast<void>(trace_view(report.result, {true, true, 0}).text());
  static_cast<void>(trace_csv(report.result));
  static_cast<void>(trace_records(report));
  static_cast<void>(parse_json(trace_json_text(report), "the report"));
}

void analyze(const Analysis& analysis, Choices& choices) {
  const AnalysisOptions options = choices.rest().starts_with('{') || choices.rest().starts_with('[')
                                      ? AnalysisOptions()
                                      : options_of(analysis, choices);
  TraceReport report;
  report.name = "fuzz";
  report.analysis = analysis.name;
  for (const std::string& text : traces_of(choices)) {
    ReadOptions how;
    how.threads = 1;
    how.needs = needs_of(analysis, options);
    const Trace trace = read_text(text, "fuzz.json", how);
    expect_counted_once(trace);
    report.files.push_back(facts_of(trace));
    report.ranks.push_back({"fuzz.json", static_cast<std::int64_t>(report.ranks.size()),
                            analysis.analyze(TraceIndex(trace), options)});
  }
  report.result = combined(report.ranks, analysis, options);
  show(report);
  if (report.ranks.size() > 1) return;
  report.result = std::move(report.ranks.front().result);
  report.ranks.clear();
  show(report);
}

void compare(Choices& choices) {
  DiffOptions options;
  const std::uint8_t some = choices.byte();
  options.top = some % 4;
  options.per_step = (some & 64) != 0;
  ProfileOptions profile;
  if ((some & 128) != 0) profile.step = some % 3;
  std::vector<TraceProfile> profiles;
  for (const std::string& text : traces_of(choices)) {
    ReadOptions how;
    how.threads = 1;
    how.needs = kProfileNeeds;
    profiles.push_back(profile_of(read_text(text, "fuzz.json", how), profile));
  }
  TraceReport report;
  report.analysis = "diff";
  report.result = diff(profiles.front(), profiles.back(), options);
  show(report);
}

void convert(Choices& choices) {
  for (const std::string& text : traces_of(choices)) {
    std::string written;
    {
      const MemoryFile file(text);
      ReadOptions how;
      how.threads = 1;
      convert_to_chrome_trace(
          file.path(), [&](std::string_view piece) { written += piece; }, how);
    }
    static_cast<void>(parse_json(written, "the converted trace"));
    const Trace before = read_text(text, "fuzz.json"), after = read_text(written, "fuzz.json");
    expect(after.is_complete, "the converted trace has no end");
    expect(after.problems.events_skipped <= before.problems.events_skipped,
           "the converted trace lost events");
    expect_same_events(before, after);
    static_cast<void>(write_event_columns(before, [](std::string_view) {}));
  }
}

std::string& asked_for() {
  static std::string name;
  return name;
}

}  // namespace
}  // namespace headroom::trace

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  constexpr std::string_view kOption = "--analysis=";
  std::string& name = headroom::trace::asked_for();
  for (int i = 1; i < *count; ++i) {
    const std::string_view argument = (*arguments)[i];
    if (argument.starts_with(kOption)) name = argument.substr(kOption.size());
  }
  if (name == "convert" || name == "diff" || headroom::trace::find_analysis(name) != nullptr) return 0;
  fmt::print(stderr, "usage: fuzz_trace_analysis --analysis=NAME [LIBFUZZER OPTION...] [CORPUS...]\n");
  std::exit(2);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom::trace;
  Choices choices({data, size});
  const std::string& name = asked_for();
  try {
    if (name == "convert") {
      convert(choices);
    } else if (name == "diff") {
      compare(choices);
    } else {
      analyze(*find_analysis(name), choices);
    }
  } catch (const headroom::Error&) {
    // Not a trace, or an invalid option: a user error.
  }
  return 0;
}
