// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "headroom/base/error.h"
#include "headroom/base/json_codec.h"
#include "headroom/base/text.h"
#include "headroom/record/formats/file_outline.h"
#include "headroom/record/formats/tool_files.h"

namespace headroom {
namespace {

bool is_nccl_header(const Fields& fields) {
  const auto has = [&fields](std::string_view name) {
    return std::ranges::find(fields, name) != fields.end();
  };
  return fields.size() > 6 && fields[0] == "#" && fields[1] == "size" && has("algbw") && has("busbw");
}

/// Columns of a place (out-of-place, in-place), as indexes of fields.
struct NcclColumns {
  std::size_t type = 0, redop = 0, root = 0;
  struct Place {
    std::size_t time = 0, algbw = 0, busbw = 0, wrong = 0;
  };
  std::vector<Place> places;
  std::size_t count = 0;
};

NcclColumns columns_of(const Fields& header) {
  NcclColumns columns;
  columns.count = header.size() - 1;
  for (std::size_t i = 1; i < header.size(); ++i) {
    const std::size_t at = i - 1;
    if (header[i] == "type") columns.type = at;
    if (header[i] == "redop") columns.redop = at;
    if (header[i] == "root") columns.root = at;
    if (header[i] == "time" || header[i] == "cputime") columns.places.push_back({.time = at});
    if (columns.places.empty()) continue;
    if (header[i] == "algbw") columns.places.back().algbw = at;
    if (header[i] == "busbw") columns.places.back().busbw = at;
    if (header[i] == "#wrong" || header[i] == "error") columns.places.back().wrong = at;
  }
  return columns;
}

/// A run of a program: its name and devices stand above its table.
struct NcclRun {
  std::string program = "nccl-tests";
  std::string gpu;
  std::size_t ranks = 0;
  NcclColumns columns;
  std::shared_ptr<const Environment> environment;

  void set_environment() {
    Environment::Runner machine;
    machine.gpu_info = gpu;
    machine.gpu_count = static_cast<std::uint32_t>(ranks);
    environment = imported_environment(machine);
  }
};

/// A place of a row. Times in us, bandwidths in GB/s.
struct NcclResult {
  std::int64_t size = 0;
  AxisValues axes;
  std::vector<double> times{};
  double algbw = 0, busbw = 0, wrong = 0;
};

/// Returns "all_reduce_perf" of ".../all_reduce_perf -b 8", or an empty text.
std::string program_in(const Fields& fields) {
  for (const std::string_view field : fields) {
    const std::string_view file = field.substr(field.rfind('/') + 1);
    if (file.ends_with("_perf")) return std::string(file);
  }
  return {};
}

void read_nccl_heading(std::string_view line, const Fields& fields, NcclRun& run) {
  if (const std::string program = program_in(fields); !program.empty()) run.program = program;
  if (line.starts_with("# nThread ")) {
    run.ranks = 0;
    run.gpu.clear();
  }
  if (line.starts_with("#  Rank ")) {
    ++run.ranks;
    const std::size_t bracket = line.find("] ");
    if (run.gpu.empty() && bracket != std::string_view::npos) run.gpu = trimmed(line.substr(bracket + 2));
  }
  if (!is_nccl_header(fields)) return;
  run.columns = columns_of(fields);
  run.set_environment();
}

/// Rows of one case are repetitions.
struct NcclCase {
  Record record;
  std::vector<double> time, algbw, busbw;
};

class NcclTable {
 public:
  void add(const NcclResult& result, const NcclRun& run) {
    NcclCase& found = case_of(result, run);
    found.time.insert(found.time.end(), result.times.begin(), result.times.end());
    found.algbw.push_back(result.algbw);
    found.busbw.push_back(result.busbw);
    if (result.wrong > 0) {
      found.record.outcome = {Outcome::Kind::kFailed,
                              fmt::format("{} wrong values in the result", result.wrong)};
    }
  }

  /// Bandwidths of small sizes are written as 0.00, which is no result.
  std::vector<Record> records() {
    std::vector<Record> records;
    for (NcclCase& entry : cases_) {
      const auto add = [&](const char* metric, const char* unit, Direction direction,
                           std::vector<double> values) {
        if (std::ranges::find(values, 0.0) != values.end()) return;
        Record record = entry.record;
        set_metric(record, metric, unit, direction);
        record.metric.headline = record.metric.name == "time";
        const Outcome outcome = record.outcome;
        set_samples(record, std::move(values));
        record.outcome = outcome;
        records.push_back(std::move(record));
      };
      add("time", "us", Direction::kLowerIsBetter, std::move(entry.time));
      add("algbw", "GB/s", Direction::kHigherIsBetter, std::move(entry.algbw));
      add("busbw", "GB/s", Direction::kHigherIsBetter, std::move(entry.busbw));
    }
    return records;
  }

 private:
  NcclCase& case_of(const NcclResult& result, const NcclRun& run) {
    Record record = tool_record("nccl-tests", run.program, "time", "us");
    record.environment = run.environment;
    record.device = "cuda";
    record.axes.emplace_back("size", AxisValue::Size{result.size});
    record.axes.insert(record.axes.end(), result.axes.begin(), result.axes.end());
    if (run.ranks > 0) record.axes.emplace_back("ranks", fmt::format("{}", run.ranks));
    const auto [at, is_new] = index_.try_emplace(identity(record), cases_.size());
    if (is_new) cases_.push_back({std::move(record), {}, {}, {}});
    return cases_[at->second];
  }

  std::vector<NcclCase> cases_;
  std::map<std::string, std::size_t> index_;
};

constexpr const char* kOutOfPlace = "out-of-place";
constexpr const char* kInPlace = "in-place";

void add_text_row(const Fields& fields, const NcclRun& run, const std::string& where, NcclTable& table) {
  const NcclColumns& columns = run.columns;
  if (fields.size() < columns.count) {
    throw Error(fmt::format("{}: expected {} columns as in the header, found {}; the line is cut off", where,
                            columns.count, fields.size()));
  }
  const auto number = [&](std::size_t column) {
    const std::optional<double> value = to_number(fields[column]);
    if (!value) throw Error(fmt::format("{}: expected a number, found {}", where, quote(fields[column])));
    return *value;
  };
  AxisValues axes;
  const auto add_axis = [&](const char* name, std::size_t column) {
    if (column > 0) axes.emplace_back(name, std::string(fields[column]));
  };
  add_axis("type", columns.type);
  add_axis("redop", columns.redop);
  if (columns.root > 0 && fields[columns.root] != "-1") add_axis("root", columns.root);
  bool in_place = columns.places.size() < 2;
  for (const NcclColumns::Place& place : columns.places) {
    NcclResult result{.size = to_integer(fields[0]).value_or(0), .axes = axes};
    result.axes.emplace_back("place", in_place ? kInPlace : kOutOfPlace);
    result.times = {require_time(number(place.time), where)};
    result.algbw = number(place.algbw);
    result.busbw = number(place.busbw);
    if (place.wrong > 0) result.wrong = to_number(fields[place.wrong]).value_or(0);
    table.add(result, run);
    in_place = true;
  }
}

std::size_t count_or(const Json& object, const char* key, std::size_t fallback, const std::string& where) {
  return json_optional(object, key, where) == nullptr
             ? fallback
             : static_cast<std::size_t>(std::max(0.0, finite_number(object, key, where)));
}

/// With --per-iter-timing a place has the times of all iterations, else their mean.
std::vector<double> json_times(const Json& row, const std::string& place, const Json& mean,
                               const std::string& where) {
  const std::string key = place + "_per_iter";
  if (const Json* iterations = json_optional(row, key.c_str(), where); iterations != nullptr) {
    const std::string path = where + "/" + key;
    std::vector<double> times = read_times(json_array(*iterations, "times_us", path), path + "/times_us");
    const std::size_t skipped = count_or(*iterations, "skipped_iterations", 0, path);
    if (skipped < times.size())
      times.erase(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(skipped));
    if (!times.empty()) return times;
  }
  const char* time = json_optional(mean, "cpu_time", where) != nullptr ? "cpu_time" : "time";
  return {require_time(finite_number(mean, time, where), where)};
}

void add_json_row(const Json& row, const NcclRun& run, const std::string& where, NcclTable& table) {
  AxisValues axes;
  for (const char* name : {"type", "redop", "root"}) {
    const std::string text = json_string_or(row, name, "", where);
    const std::string value(trimmed(text));
    if (!value.empty() && !(name == std::string_view("root") && value == "-1"))
      axes.emplace_back(name, value);
  }
  for (const auto& [key, place] : {std::pair{"out_of_place", kOutOfPlace}, std::pair{"in_place", kInPlace}}) {
    const Json* values = json_optional(row, key, where);
    if (values == nullptr) continue;
    const std::string path = fmt::format("{}/{}", where, key);
    require_object(*values, path);
    NcclResult result{.size = static_cast<std::int64_t>(finite_number(row, "size", where)), .axes = axes};
    result.axes.emplace_back("place", place);
    result.times = json_times(row, key, *values, path);
    result.algbw = finite_number(*values, "alg_bw", path);
    result.busbw = finite_number(*values, "bus_bw", path);
    if (json_optional(*values, "nwrong", path) != nullptr)
      result.wrong = finite_number(*values, "nwrong", path);
    table.add(result, run);
  }
}

/// Without MPI one device is listed, with it the first of each process.
NcclRun run_of(const Json& file, const std::string& source) {
  NcclRun run;
  const Json* arguments = json_optional(file, "args", source);
  if (arguments != nullptr && arguments->is_array() && !arguments->empty() && (*arguments)[0].is_string()) {
    const std::string program = (*arguments)[0].string();
    if (const std::string name = program_in({program}); !name.empty()) run.program = name;
  }
  if (const Json* config = json_optional(file, "config", source); config != nullptr) {
    const std::string where = source + ": /config";
    const Json& devices = json_array(*config, "devices", where);
    run.ranks =
        devices.size() * count_or(*config, "nthreads", 1, where) * count_or(*config, "ngpus", 1, where);
    if (!devices.empty()) run.gpu = json_string_or(devices[0], "device_info", "", where + "/devices/0");
  }
  run.set_environment();
  return run;
}

bool is_nccl_tests(const FileOutline& outline) {
  constexpr std::size_t kHead = std::size_t{1} << 20;
  if (!outline.is_text()) return outline.has_any({"results/out_of_place", "results/in_place"});
  return std::ranges::any_of(lines_of(outline.text().substr(0, kHead)), [](auto line) {
    return line.starts_with("# nThread ") || (line.starts_with('#') && is_nccl_header(fields_of(line)));
  });
}

NcclTable read_nccl_json(std::string_view text, const std::string& source) {
  const Json file = parse_tool_json(text, source);
  const NcclRun run = run_of(require_object(file, source), source);
  NcclTable table;
  const Json& rows = json_array(file, "results", source);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string where = fmt::format("{}: /results/{}", source, i);
    add_json_row(require_object(rows[i], where), run, where, table);
  }
  return table;
}

NcclTable read_nccl_text(std::string_view text, const std::string& source) {
  NcclRun run;
  NcclTable table;
  std::size_t number = 0;
  for (const std::string_view line : lines_of(text)) {
    ++number;
    const Fields fields = fields_of(line);
    const bool is_row =
        run.columns.count > 0 && fields.size() > 1 && to_integer(fields[0]) && to_integer(fields[1]);
    if (is_row) {
      add_text_row(fields, run, fmt::format("{}: line {}", source, number), table);
    } else {
      read_nccl_heading(line, fields, run);
    }
  }
  return table;
}

std::vector<Record> read_nccl_tests(const PaddedText& text, const std::string& source) {
  const bool is_json = trimmed(text.view()).starts_with('{');
  std::vector<Record> records =
      is_json ? read_nccl_json(text.view(), source).records() : read_nccl_text(text.view(), source).records();
  if (records.empty()) {
    throw Error(source + (is_json ? ": /results has no result of nccl-tests"
                                  : ": has no row of results below the header of nccl-tests"));
  }
  return records;
}

}  // namespace

/// Text of nccl-tests and rccl-tests, JSON of nccl-tests (read). Rows of one case, and iterations, are
/// samples.
Format nccl_tests_format() {
  return {.name = "nccl-tests",
          .summary = "text and JSON of nccl-tests",
          .recognises = is_nccl_tests,
          .read = read_nccl_tests};
}

}  // namespace headroom
