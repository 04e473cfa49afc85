// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/program/trace_files.h"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <set>
#include <string_view>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/console/output.h"
#include "headroom/files/byte_source.h"
#include "headroom/history/store.h"
#include "headroom/record/formats.h"
#include "headroom/results/record_files.h"
#include "headroom_trace/formats/formats.h"

namespace headroom::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> kPacked{".gz", ".zst", ".zip"};
constexpr std::array<std::string_view, 5> kOtherForms{".pftrace", ".perfetto-trace", ".xplane.pb", ".sqlite",
                                                      ".et"};

template <std::size_t N>
bool cut_ending(std::string_view& name, const std::array<std::string_view, N>& endings) {
  for (const std::string_view ending : endings) {
    if (name.size() <= ending.size() || !name.ends_with(ending)) continue;
    name.remove_suffix(ending.size());
    return true;
  }
  return false;
}

bool has_trace_name(const fs::path& path) {
  const std::string file = path.filename().string();
  std::string_view name = file;
  const bool is_zip = name.ends_with(".zip");
  cut_ending(name, kPacked);
  return is_zip || name.ends_with(".json");
}

bool has_other_form(const fs::path& path) {
  const std::string file = path.filename().string();
  std::string_view name = file;
  cut_ending(name, kPacked);
  return cut_ending(name, kOtherForms);
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files = files_below(folder, has_trace_name);
  // JAX writes a run in both formats.
  if (files.empty()) files = files_below(folder, has_other_form);
  if (files.empty())
    throw Error(folder.string() +
                ": no trace in this folder (*.json, *.pftrace, *.xplane.pb, *.sqlite or *.et, plain or as "
                ".gz, .zst, .zip)");
  return files;
}

std::vector<fs::path> files_like(const std::string& pattern) {
  glob_t found{};
  const int answer = ::glob(pattern.c_str(), 0, nullptr, &found);
  std::vector<fs::path> files;
  for (std::size_t i = 0; answer == 0 && i < found.gl_pathc; ++i) files.emplace_back(found.gl_pathv[i]);
  ::globfree(&found);
  if (files.empty()) throw Error(quote(pattern) + ": no file matches this pattern");
  return files;
}

std::vector<fs::path> files_of(const std::string& operand) {
  if (operand == "-") return {"/dev/stdin"};
  std::error_code error;
  if (fs::is_directory(operand, error)) return files_in(operand);
  if (!fs::exists(operand, error) && operand.find_first_of("*?[") != std::string::npos)
    return files_like(operand);
  return {operand};
}

/// "rank-2" before "rank-10".
bool natural_less(const fs::path& left, const fs::path& right) {
  const std::string a = left.string(), b = right.string();
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (!is_digit(a[i]) || !is_digit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
      continue;
    }
    const auto digits = [&](const std::string& text, std::size_t& at) {
      const std::size_t first = std::min(text.find_first_not_of('0', at), text.size());
      std::size_t end = first;
      while (end < text.size() && is_digit(text[end])) ++end;
      at = end;
      return std::string_view(text).substr(first, end - first);
    };
    const std::string_view x = digits(a, i), y = digits(b, j);
    if (x.size() != y.size()) return x.size() < y.size();
    if (x != y) return x < y;
  }
  return a.size() - i != b.size() - j ? a.size() - i < b.size() - j : a < b;
}

constexpr const char* kStdout = "-";

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void write(const std::string& path, const std::string& text) {
  if (path == kStdout) {
    print(text);
  } else {
    write_file_atomically(path, text);
  }
}

/// "kernels.streams.csv" for "kernels.csv" and "streams".
std::string with_key(const std::string& path, const std::string& key) {
  const std::filesystem::path whole(path);
  const std::string ending = whole.extension().string();
  return path.substr(0, path.size() - ending.size()) + "." + key + ending;
}

void write_csv(const trace::AnalysisResult& result, const std::string& path) {
  if (path == kStdout) return print(trace_csv(result));
  for (const trace::DataTable& table : result.tables) {
    const bool is_first = &table == &result.tables.front();
    write_file_atomically(is_first ? path : with_key(path, table.key), trace_csv(table));
  }
}

/// Python's json.dumps, byte for byte.
std::string pytorch_json(const trace::AnalysisResult& result) {
  std::string text;
  for (const trace::Headline& headline : result.headlines)
    text += (text.empty() ? "{\"" : ", \"") + headline.metric + "\": " + dump_json(Json(headline.value));
  return text + "}\n";
}

std::int64_t first_instant(const TraceReport& report) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  for (const trace::TraceFacts& facts : report.files) first = std::min(first, facts.start_ns);
  return report.files.empty() ? 0 : first;
}

void write_result_files(const TraceReport& report) {
  for (const trace::OutputFile& file : report.result.files) write_file_atomically(file.path, file.content);
  for (const trace::RankResult& rank : report.ranks) {
    for (const trace::OutputFile& file : rank.result.files) {
      write_file_atomically(with_key(file.path, "rank" + std::to_string(rank.rank)), file.content);
    }
  }
}

/// Prints the report first, so that unwritable files do not lose it.
void print_and_write(const TraceReport& report, const TraceOutputOptions& outputs, const std::string& json) {
  if (outputs.json != kStdout && outputs.csv != kStdout)
    print_view(trace_view(report.result, {outputs.markdown, outputs.full_names, first_instant(report),
                                          terminal_width(stdout)}),
               stdout, outputs.markdown);
  run_writes({[&] {
                if (!outputs.json.empty()) write(outputs.json, json);
              },
              [&] { write_result_files(report); },
              [&] {
                if (!outputs.csv.empty()) write_csv(report.result, outputs.csv);
              }});
}

std::string problems_text(const trace::TraceFacts& facts) {
  const trace::Problems& problems = facts.problems;
  const char* const advice = "; headroom trace validate FILE shows more";
  if (problems.count == 0) {
    if (facts.is_complete) return "";
    return facts.source + ": the file is truncated; used up to its end" + advice;
  }
  std::string text = fmt::format("{}: {} {}, {} {} left out", facts.source, problems.count,
                                 problems.count == 1 ? "problem" : "problems", problems.events_skipped,
                                 problems.events_skipped == 1 ? "event" : "events");
  if (!problems.first.empty()) {
    const trace::Problem& first = problems.first.front();
    text += fmt::format("; the first at byte {}: {}", first.offset, first.what);
  }
  return text + advice;
}

}  // namespace

TraceFiles trace_files(const std::vector<std::string>& operands) {
  TraceFiles all;
  std::set<fs::path> seen;
  for (const std::string& operand : operands) {
    std::vector<fs::path> files = files_of(operand);
    std::ranges::sort(files, natural_less);
    for (fs::path& file : files) {
      std::error_code error;
      const fs::path canonical = fs::canonical(file, error);
      if (!error && !seen.insert(canonical).second) {
        all.notes.push_back(file.string() + ": named twice; read once");
      } else {
        all.paths.push_back(std::move(file));
      }
    }
  }
  return all;
}

bool is_trace_file(const std::string& operand) {
  constexpr std::size_t kHead = std::size_t{64} << 10;
  std::error_code ignored;
  if (operand.starts_with("@") || !fs::is_regular_file(operand, ignored)) return false;
  const PeekedSource peeked(open_unpacked(operand), kHead);
  const std::string_view head = peeked.first();
  if (trace::readers::format_of(head) != nullptr) return true;
  if (format_of_text(head) != nullptr) return false;
  return contains(head, "\"traceEvents\"") || contains(head, "\"deviceProperties\"") ||
         (contains(head, "\"ph\"") && contains(head, "\"ts\""));
}

std::string trace_name(const std::vector<fs::path>& paths) {
  if (paths.size() > 1) {
    std::error_code error;
    const fs::path folder = fs::weakly_canonical(paths.front(), error).parent_path();
    const bool shared = std::ranges::all_of(paths, [&](const fs::path& path) {
      return fs::weakly_canonical(path, error).parent_path() == folder;
    });
    if (shared && folder.has_filename()) return folder.filename().string();
  }
  const std::string file = paths.empty() ? "" : paths.front().filename().string();
  std::string_view name = file;
  cut_ending(name, kPacked);
  if (!cut_ending(name, kOtherForms))
    cut_ending(name, std::array<std::string_view, 2>{".pt.trace.json", ".json"});
  // PyTorch's TensorBoard handler inserts the time before the ending.
  const std::size_t dot = name.rfind('.');
  constexpr std::size_t kDigitsOfATime = 10;
  if (dot != std::string_view::npos && dot > 0 && name.size() - dot > kDigitsOfATime &&
      name.find_first_not_of("0123456789", dot + 1) == std::string_view::npos) {
    name = name.substr(0, dot);
  }
  return std::string(name);
}

bool is_pytorch_compatible(const TraceOptions& options) {
  return std::string_view(options.analysis->name) == "utilization" && options.values.flag("pytorch-compat");
}

void check_outputs(const TraceOutputOptions& outputs) {
  if (outputs.json == kStdout && outputs.csv == kStdout)
    throw Error("--json - and --csv - both write to standard output: give one of them a file");
  for (const std::string& path : {outputs.json, outputs.csv}) {
    if (!path.empty() && path != kStdout) require_writable(path);
  }
}

void protect_inputs(const TraceOutputOptions& outputs, std::span<const std::filesystem::path> inputs) {
  for (const std::string& path : {outputs.json, outputs.csv}) {
    if (path.empty() || path == kStdout) continue;
    std::error_code none;
    for (const std::filesystem::path& input : inputs) {
      if (std::filesystem::equivalent(path, input, none))
        throw Error(path + " is an input trace: give another file");
    }
  }
}

void write_report(const TraceReport& report, const TraceOutputOptions& outputs) {
  print_and_write(report, outputs, outputs.json.empty() ? "" : trace_json_text(report));
}

void write_pytorch_pair(const TraceReport& report, const TraceOutputOptions& outputs) {
  print_and_write(report, outputs, pytorch_json(report.result));
}

void keep_in_history(const TraceReport& report, const std::string& store) {
  try {
    append_to_history(trace_records(report), store, Equal::kOnce);
  } catch (const Error& error) {
    throw Error(std::string("not kept in the history: ") + error.what());
  }
}

void warn_of_problems(const std::vector<trace::TraceFacts>& traces) {
  constexpr std::size_t kMost = 10;
  std::size_t files = 0;
  for (const trace::TraceFacts& facts : traces) {
    const std::string text = problems_text(facts);
    if (!text.empty() && ++files <= kMost) print_sentence(text);
  }
  if (files > kMost) print_sentence(fmt::format("and {} more files with problems", files - kMost));
}

}  // namespace headroom::cli
