// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/formats.h"

#include <fmt/format.h>

#include <filesystem>

#include "headroom/base/error.h"
#include "headroom/base/json_codec.h"
#include "headroom/base/text.h"
#include "headroom/files/compressed_file.h"
#include "headroom/record/formats/file_outline.h"
#include "headroom/record/formats/tool_files.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

Record criterion_record(const std::string& name) {
  Record record = headline_record("Criterion", name, "latency", "ns");
  record.device = "cpu";
  return record;
}

/// Times of samples over their iterations, in ns.
std::vector<double> per_iteration(const Json& object, const char* times_key, const char* iterations_key,
                                  double factor, const std::string& where) {
  std::vector<double> times = read_times(json_array(object, times_key, where), where + "/" + times_key);
  const std::vector<double> iterations =
      read_times(json_array(object, iterations_key, where), where + "/" + iterations_key);
  if (times.size() != iterations.size()) {
    throw Error(fmt::format("{}/{}: has {} values, but {} has {}; the file is damaged", where, times_key,
                            times.size(), iterations_key, iterations.size()));
  }
  for (std::size_t i = 0; i < times.size(); ++i) times[i] *= factor / iterations[i];
  return times;
}

/// Returns the full name from benchmark.json beside the file, or else the folder of target/criterion.
std::string name_of_benchmark(const std::string& source) {
  std::error_code ignored;
  const fs::path folder = fs::absolute(source, ignored).parent_path();
  const fs::path description = folder / "benchmark.json";
  if (fs::is_regular_file(description, ignored)) {
    const Json json = parse_tool_json(read_compressed_file(description).view(), description.string());
    return json_string(json, "full_id", description.string() + ": ");
  }
  const std::string name = folder.parent_path().generic_string();
  constexpr std::string_view kRoot = "target/criterion/";
  const std::size_t root = name.rfind(kRoot);
  return root == std::string::npos ? folder.parent_path().filename().string()
                                   : name.substr(root + kRoot.size());
}

std::vector<Record> read_criterion_file(const Json& document, const std::string& source) {
  const std::string root = source + ": ";
  if (document.contains("iters")) {
    Record record = criterion_record(name_of_benchmark(source));
    set_samples(record, per_iteration(document, "times", "iters", 1, root));
    return {record};
  }
  std::error_code ignored;
  if (fs::is_regular_file(fs::path(source).parent_path() / "sample.json", ignored))
    throw Error(source + ": sample.json beside it has the samples of these estimates; read that file");
  Record record = criterion_record(name_of_benchmark(source));
  const Json& median = json_member(document, "median", root);
  const std::string path = root + "/median";
  set_value(record, require_time(finite_number(median, "point_estimate", path), path + "/point_estimate"));
  return {record};
}

Record read_message(const Json& message, const std::string& where) {
  Record record = criterion_record(json_string(message, "id", where));
  const Json* values = json_optional(message, "measured_values", where);
  const auto ns_per = [](const Json& object, const std::string& path) {
    const std::string unit = json_string(object, "unit", path);
    const std::optional<double> ns = nanoseconds_per(unit);
    if (!ns) throw Error(path + "/unit: expected a unit of time, found " + quote(unit));
    return *ns;
  };
  if (values != nullptr && !values->empty()) {
    const double factor = ns_per(message, where);
    set_samples(record, per_iteration(message, "measured_values", "iteration_count", factor, where));
    return record;
  }
  const std::string path = where + "/median";
  const Json& median = json_member(message, "median", where);
  const double ns = ns_per(median, path) * finite_number(median, "estimate", path);
  set_value(record, require_time(ns, path + "/estimate"));
  return record;
}

bool is_criterion(const FileOutline& outline) {
  return outline.starts_with_object() &&
         (outline.has_all({"sampling_mode", "iters", "times"}) || outline.has_all({"reason", "median"}) ||
          outline.has_all({"reason", "group_name", "benchmarks"}) ||
          outline.has("median/confidence_interval"));
}

std::vector<Record> read_criterion(const PaddedText& text, const std::string& source) {
  const std::vector<JsonRow> rows = parse_json_rows(text.view(), source);
  if (rows.size() == 1 && !rows[0].object.contains("reason"))
    return read_criterion_file(rows[0].object, source);
  std::vector<Record> records;
  for (const JsonRow& row : rows) {
    if (json_string(row.object, "reason", row.where) == "benchmark-complete")
      records.push_back(read_message(row.object, row.where));
  }
  if (records.empty()) throw Error(source + ": has no message benchmark-complete; there is nothing to read");
  return records;
}

}  // namespace

/// Criterion's sample.json and estimates.json in target/criterion, and the messages of cargo-criterion
/// (read).
Format criterion_format() {
  return {.name = "criterion",
          .summary = "sample.json or estimates.json of Criterion, messages of cargo-criterion",
          .recognises = is_criterion,
          .read = read_criterion,
          .one_run = true};
}

}  // namespace headroom
