// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <exception>
#include <string_view>

#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/console/option_table.h"
#include "headroom/console/output.h"
#include "headroom/console/program.h"
#include "headroom_trace/columns/trace_facts.h"
#include "headroom_trace/peers/pytorch_utilization.h"
#include "headroom_trace/program/trace.h"
#include "headroom_trace/program/trace_files.h"

namespace headroom::cli {
namespace {

Json recorded_utilization(const std::string& file, double length_s) {
  trace::ReadOptions options;
  options.needs = trace::kPyTorchUtilizationNeeds;
  const trace::Trace trace = trace::read(file, options);
  if (const std::string missing = trace::missing_data_text(trace); !missing.empty())
    return {{"error", missing}};
  const trace::PyTorchUtilization busy = trace::pytorch_utilization(trace, length_s);
  return {{"utilization", busy.utilization}, {"mm_conv_utilization", busy.mm_conv_utilization}};
}

/// For `headroom run --trace`: busy GPU microseconds per iteration of each trace, as JSON. Arguments: the
/// iterations of each trace, then the traces.
ExitCode print_recorded_utilization(const Arguments& arguments) {
  constexpr double kMicroseconds = 1e-6;
  const double length_s = kMicroseconds * to_number(arguments.at(0)).value_or(1);
  Json answers = Json::array();
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    Json answer;
    try {
      answer = recorded_utilization(arguments[i], length_s);
    } catch (const std::exception& error) {
      answer = {{"error", error.what()}};
    }
    answer["file"] = arguments[i];
    answers.push_back(std::move(answer));
  }
  std::puts(dump_json(answers).c_str());
  return ExitCode::kSuccess;
}

/// The hidden options are for other headroom programs.
OptionTable run_trace(Arguments& arguments) {
  const std::string first = arguments.empty() ? "" : arguments.front();
  const bool asks_kind = first == "--is-trace" && arguments.size() == 2;
  if (!asks_kind && (first != "--recorded-utilization" || arguments.size() < 2))
    return trace_options(arguments);
  OptionTable table("", "headroom-trace");
  table.finish([asks_kind, rest = Arguments(arguments.begin() + 1, arguments.end())] {
    if (!asks_kind) return print_recorded_utilization(rest);
    return is_trace_file(rest.front()) ? ExitCode::kSuccess : ExitCode::kFailure;
  });
  arguments.clear();
  return table;
}

constexpr Command kCommands[] = {
    {"trace", "analyse profiler traces: utilisation, kernels, GPU idle time, collectives", run_trace,
     trace_words},
};

}  // namespace
}  // namespace headroom::cli

int main(int argc, char** argv) {
  return headroom::cli::program_main("headroom-trace", headroom::cli::kCommands, {}, argc, argv);
}
