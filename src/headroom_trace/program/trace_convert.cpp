// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>

#include "headroom/base/error.h"
#include "headroom/console/interrupt.h"
#include "headroom/console/max_memory.h"
#include "headroom/console/option_table.h"
#include "headroom/console/output.h"
#include "headroom/files/compressed_file.h"
#include "headroom_trace/program/trace.h"
#include "headroom_trace/program/trace_files.h"
#include "headroom_trace/program/trace_options.h"
#include "headroom_trace/readers/convert.h"
#include "headroom_trace/report/file_analysis.h"

namespace headroom::cli {
namespace {

namespace fs = std::filesystem;

constexpr ConstantHelp kTraceConvertExamples[] = {
    {"headroom trace convert broken.json clean.json", "for ui.perfetto.dev"},
    {"headroom trace convert trace.json.gz trace.json.zst", "compressed again, in little memory"},
    {"headroom trace convert trace.json events.csv", "for pandas, DuckDB, a spreadsheet"},
};

constexpr const char* kTraceConvertDetails[] = {
    "OUT is a Chrome trace for any viewer: valid JSON, one event per line, all readable parts of IN. A name "
    "in .csv makes a table of the events with a duration, in whole nanoseconds; .gz and .zst compress "
    "either. '-' is standard input and output.",
};

struct ConvertOptions {
  std::vector<std::string> paths;
  TraceReading reading;
};

fs::path path_or(const std::string& text, const char* of_dash) {
  return text == "-" ? of_dash : text;
}

bool is_csv(fs::path path) {
  if (path.extension() == ".gz" || path.extension() == ".zst") path.replace_extension();
  return path.extension() == ".csv";
}

trace::ReadOptions read_options(const ConvertOptions& options, TraceProgress& terminal) {
  const trace::FilesOptions how = files_options(options.reading, terminal);
  trace::ReadOptions read;
  read.threads = how.threads;
  read.is_cancelled = how.is_cancelled;
  read.progress = [tell = how.progress](std::uint64_t done, std::uint64_t size) { tell({0, 1, done, size}); };
  return read;
}

/// Nothing for large files, and for pipes, which cannot be read twice.
std::vector<std::string> impossible_events_of(const fs::path& in, trace::ReadOptions read) {
  std::error_code none;
  if (!fs::is_regular_file(in, none) || trace::text_bytes(in, fs::file_size(in)) > trace::kLargeTrace)
    return {};
  read.needs =
      trace::Needs::kLaunches | trace::Needs::kOpEvents | trace::Needs::kPython | trace::Needs::kOthers;
  read.progress = nullptr;
  return trace::impossible_events_kept(trace::read(in, read));
}

ExitCode convert(const ConvertOptions& options) {
  const fs::path in = path_or(options.paths[0], "/dev/stdin"), out = path_or(options.paths[1], "/dev/stdout");
  std::error_code none;
  if (fs::equivalent(in, out, none)) throw Error(out.string() + " is the input file: give another output");
  FileWriter file(out);
  const trace::WriteText write = [&file](std::string_view text) { file.write(text); };
  trace::Conversion done;
  std::vector<std::string> impossible;
  {
    TraceProgress terminal;
    trace::ReadOptions read = read_options(options, terminal);
    if (is_csv(out)) {
      const trace::Trace trace = trace::read(in, read);
      done = {trace::facts_of(trace), trace::write_event_columns(trace, write)};
      impossible = trace::impossible_events_kept(trace);
    } else {
      done = trace::convert_to_chrome_trace(in, write, read);
      impossible = impossible_events_of(in, read);
    }
  }
  if (interrupt_flag()) throw Error("interrupted");
  file.finish();
  warn_of_problems({done.facts});
  for (const std::string& text : impossible) print_sentence(text);
  print_sentence(fmt::format("{} of {} events written to {}", done.events_written, done.facts.events_seen,
                             out == "/dev/stdout" ? "standard output" : out.string()));
  return ExitCode::kSuccess;
}

}  // namespace

OptionTable trace_convert_options() {
  OptionTable table("Rewrite a trace as clean Chrome JSON, or its events as CSV.", "headroom trace convert");
  auto& options = table.own<ConvertOptions>();
  table.examples(kTraceConvertExamples);
  table.details(kTraceConvertDetails);
  table.add_option("IN OUT", options.paths, "the trace to read, and the file to write")
      .completed_by(Completes::kFile)
      .take_all();
  table.add_no_follow();
  declare_reading(table, options.reading);
  table.finish([&options] {
    if (options.paths.size() != 2)
      throw Error("headroom trace convert needs an input and an output: give IN and OUT");
    return unless_interrupted([&] {
      return with_memory_limit(options.reading.max_memory, options.paths[0],
                               [&] { return convert(options); });
    });
  });
  return table;
}

}  // namespace headroom::cli
