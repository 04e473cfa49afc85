// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>
#include <set>
#include <system_error>
#include <unordered_map>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/record/formats/file_outline.h"
#include "headroom/record/older_schemas.h"

namespace headroom {

// To add a format: define it in formats/NAME.cpp or formats/tools/NAME.cpp, and name it here and in
// all_formats().
Format headroom_json_format(), oss_v3_format(), seed_csv_format(), seed_jsonl_format(), ddp_report_format(),
    nvbench_format(), google_benchmark_format(), hyperfine_format(), pytest_benchmark_format(),
    llama_bench_format(), pyperf_format(), asv_format(), criterion_format(), go_testing_format(),
    jmh_format(), catch2_format(), benchmark_dotnet_format(), nccl_tests_format(), vllm_bench_format(),
    guidellm_format(), github_action_benchmark_format(), openmetrics_format(), bmf_format(),
    smaller_is_better_format(), bigger_is_better_format();

namespace {

std::string first_line(std::string_view text) {
  constexpr std::size_t kMaxLength = 60;
  const std::string line(trimmed(text.substr(0, std::min(text.find('\n'), kMaxLength))));
  return text.find('\n') > kMaxLength ? line + "..." : line;
}

/// Reads the first bytes.
const Format* format_by_head(const std::filesystem::path& path) {
  constexpr std::size_t kHead = std::size_t{64} << 10;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return nullptr;
  if (std::filesystem::file_size(path, ignored) > kMaxFileBytes || ignored) return nullptr;
  std::ifstream file(path, std::ios::binary);
  std::string head(kHead, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(file.gcount()));
  const FileOutline outline(head);
  for (const Format& format : all_formats()) {
    if (format.read_file != nullptr && format.recognises(outline)) return &format;
  }
  return nullptr;
}

/// Numbers cases of equal name: "make", "make (2)". A repeated metric starts a new case.
void number_equal_cases(std::vector<Record>& records) {
  struct Case {
    std::size_t number = 1;
    std::vector<std::string_view> metrics;
  };
  ByCase<Case> cases;
  std::unordered_map<std::size_t, std::size_t> numbers;  // by record index
  for (std::size_t i = 0; i < records.size(); ++i) {
    Case& known = cases[&records[i]];
    const std::string_view metric = records[i].metric.name;
    if (std::ranges::find(known.metrics, metric) != known.metrics.end()) {
      ++known.number;
      known.metrics.clear();
    }
    known.metrics.push_back(metric);
    if (known.number > 1) numbers[i] = known.number;
  }
  if (numbers.empty()) return;
  std::set<std::string> taken;
  for (const Record& record : records) taken.insert(record.model.name);
  for (std::size_t i = 0; i < records.size(); ++i) {
    const auto found = numbers.find(i);
    if (found == numbers.end()) continue;
    std::string& name = records[i].model.name;
    std::string suffix = fmt::format(" ({})", found->second);
    while (taken.contains(name + suffix)) suffix += "'";
    name += suffix;
  }
}

/// Only headroom files name the instrument, and have their numbers checked record by record.
void complete(std::vector<Record>& records, const Format& format, const std::string& source) {
  if (format.name == std::string_view("headroom-json")) return;
  for (Record& record : records) {
    fail_if_unbounded(
        record, [&] { return fmt::format("{}: {}: {}: ", source, case_name(record), record.metric.name); });
    record.instrument = record_json::instrument_by_names(record);
    if (record.instrument == Instrument::kImport) record.tool = format.name;
  }
}

std::vector<Record> read_as(const Format& format, const PaddedText& text, const std::string& source) {
  std::vector<Record> records = format.read(text, source);
  complete(records, format, source);
  if (format.one_run) number_equal_cases(records);
  return records;
}

/// Throws Error naming the format, and a better one if the content looks like it.
std::vector<Record> read_forced(const Format& format, const PaddedText& text, const std::string& source) {
  if (format.read == nullptr) {
    throw Error("the format " + quote(format.name) +
                " can be written but not read; headroom reads: " + join(readable_formats(), ", "));
  }
  try {
    return read_as(format, text, source);
  } catch (const Error& error) {
    const Format* looks = format_of_text(text.view());
    const std::string hint =
        looks == nullptr || looks == &format ? "" : fmt::format("; its content looks like {}", looks->name);
    throw Error(fmt::format("cannot read it as {}: {}{}", format.name, error.what(), hint));
  }
}

/// Throws Error if log lines precede JSON of a known format.
void refuse_text_before_json(std::string_view text, const std::string& source) {
  constexpr std::size_t kHead = std::size_t{64} << 10, kMaxTries = 16;
  if (is_json(text)) return;
  std::size_t line = 1, tries = 0;
  for (std::size_t end = text.find('\n'); end < kHead && tries < kMaxTries; end = text.find('\n', end + 1)) {
    ++line;
    const std::string_view rest = text.substr(end + 1);
    if (!rest.starts_with('{') && !rest.starts_with('[')) continue;
    ++tries;
    if (const Format* format = format_of_text(rest)) {
      throw Error(
          fmt::format("{}: line 1 is not JSON: {}; the {} begins at line {}, remove the lines before it",
                      source, quote(first_line(text)), format->summary, line));
    }
  }
}

}  // namespace

std::span<const Format> all_formats() {
  static const std::vector<Format> formats{
      headroom_json_format(),
      oss_v3_format(),
      seed_csv_format(),
      seed_jsonl_format(),
      ddp_report_format(),
      nvbench_format(),
      google_benchmark_format(),
      hyperfine_format(),
      pytest_benchmark_format(),
      llama_bench_format(),
      pyperf_format(),
      asv_format(),
      criterion_format(),
      go_testing_format(),
      jmh_format(),
      catch2_format(),
      benchmark_dotnet_format(),
      nccl_tests_format(),
      vllm_bench_format(),
      guidellm_format(),
      github_action_benchmark_format(),
      openmetrics_format(),
      smaller_is_better_format(),
      bigger_is_better_format(),
      bmf_format(),  // last: has no keys of its own
  };
  return formats;
}

const Format& format_named(std::string_view name) {
  std::vector<std::string> known;
  for (const Format& format : all_formats()) {
    if (name == format.name) return format;
    known.emplace_back(format.name);
  }
  throw Error("unknown format " + quote(name) + did_you_mean(name, known) + "; known: " + join(known, ", "));
}

std::vector<std::string> readable_formats() {
  std::vector<std::string> names;
  for (const Format& format : all_formats()) {
    if (format.read != nullptr) names.emplace_back(format.name);
  }
  return names;
}

const Format* format_of_file_name(const std::filesystem::path& path) {
  const std::string file = path.filename().string();
  const Format* best = nullptr;
  std::size_t best_length = 0;
  for (const Format& format : all_formats()) {
    for (const char* ending : format.endings) {
      if (file.ends_with(ending) && std::strlen(ending) > best_length) {
        best = &format;
        best_length = std::strlen(ending);
      }
    }
  }
  return best;
}

void write_records(const std::filesystem::path& path, const Format& format,
                   const std::vector<Record>& records) {
  if (format.write == nullptr) {
    throw Error("the format " + quote(format.name) + " can be read but not written");
  }
  std::string previous;
  if (format.appends && std::filesystem::is_regular_file(path)) previous = read_file(path);
  write_file_atomically(path, format.write(records, previous, path.string()));
}

const Format* format_of_text(std::string_view text) {
  const FileOutline outline(text);
  for (const Format& format : all_formats()) {
    if (format.recognises != nullptr && format.recognises(outline)) return &format;
  }
  return nullptr;
}

std::vector<Record> read_records(const std::filesystem::path& path, const Format* from) {
  const Format* streamed = format_by_head(path);
  if (streamed != nullptr && (from == nullptr || from == streamed)) {
    std::vector<Record> records = streamed->read_file(path);
    complete(records, *streamed, path.string());
    return records;
  }
  return records_from_text(read_compressed_file(path), path.string(), from);
}

std::vector<Record> records_from_text(const PaddedText& text, const std::string& source, const Format* from) {
  if (trimmed(text.view().substr(0, 4096)).empty() && trimmed(text.view()).empty()) {
    throw Error(source + ": is empty; there is nothing to read");
  }
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.view().starts_with(kByteOrderMark)) {
    return records_from_text(PaddedText(text.view().substr(kByteOrderMark.size())), source, from);
  }
  if (from != nullptr) return read_forced(*from, text, source);
  const Format* format = format_of_text(text.view());
  if (format == nullptr) {
    if (text.view().starts_with("\xFF\xFE") || text.view().starts_with("\xFE\xFF")) {
      throw Error(source +
                  ": is UTF-16, as PowerShell's > writes it; convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)");
    }
    refuse_text_before_json(text.view(), source);
    const std::string tool = unsupported_tool(FileOutline(text.view()));
    if (!tool.empty()) {
      throw Error(fmt::format("{}: looks like {}, which headroom does not read; it reads: {}", source, tool,
                              join(readable_formats(), ", ")));
    }
    throw Error(source + ": unknown file format; headroom reads: " + join(readable_formats(), ", "));
  }
  return read_as(*format, text, source);
}

}  // namespace headroom
