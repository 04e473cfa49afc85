// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "headroom/base/error.h"
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
  Environment::Runner machine;
  machine.gpu_info = run.gpu;
  machine.gpu_count = static_cast<std::uint32_t>(run.ranks);
  run.environment = imported_environment(machine);
}

/// Rows of one case are repetitions.
struct NcclCase {
  Record record;
  std::vector<double> time, algbw, busbw;
};

class NcclTable {
 public:
  void add(const Fields& fields, const NcclRun& run, const std::string& where) {
    if (fields.size() < run.columns.count) {
      throw Error(fmt::format("{}: expected {} columns as in the header, found {}; the line is cut off",
                              where, run.columns.count, fields.size()));
    }
    bool in_place = run.columns.places.size() < 2;
    for (const NcclColumns::Place& place : run.columns.places) {
      const auto number = [&](std::size_t column) {
        const std::optional<double> value = to_number(fields[column]);
        if (!value) throw Error(fmt::format("{}: expected a number, found {}", where, quote(fields[column])));
        return *value;
      };
      NcclCase& found = case_of(fields, run, in_place ? "in-place" : "out-of-place");
      in_place = true;
      found.time.push_back(require_time(number(place.time), where));
      found.algbw.push_back(number(place.algbw));
      found.busbw.push_back(number(place.busbw));
      const double wrong = place.wrong > 0 ? to_number(fields[place.wrong]).value_or(0) : 0;
      if (wrong > 0)
        found.record.outcome = {Outcome::Kind::kFailed, fmt::format("{} wrong values in the result", wrong)};
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
  NcclCase& case_of(const Fields& fields, const NcclRun& run, const char* place) {
    Record record = tool_record("nccl-tests", run.program, "time", "us");
    record.environment = run.environment;
    record.device = "cuda";
    record.axes.emplace_back("size", AxisValue::Size{to_integer(fields[0]).value_or(0)});
    const auto add = [&](const char* name, std::size_t column) {
      if (column > 0) record.axes.emplace_back(name, std::string(fields[column]));
    };
    add("type", run.columns.type);
    add("redop", run.columns.redop);
    if (run.columns.root > 0 && fields[run.columns.root] != "-1") add("root", run.columns.root);
    record.axes.emplace_back("place", place);
    if (run.ranks > 0) record.axes.emplace_back("ranks", fmt::format("{}", run.ranks));
    const auto [at, is_new] = index_.try_emplace(identity(record), cases_.size());
    if (is_new) cases_.push_back({std::move(record), {}, {}, {}});
    return cases_[at->second];
  }

  std::vector<NcclCase> cases_;
  std::map<std::string, std::size_t> index_;
};

bool is_nccl_tests(const FileOutline& outline) {
  constexpr std::size_t kHead = std::size_t{1} << 20;
  return outline.is_text() && std::ranges::any_of(lines_of(outline.text().substr(0, kHead)), [](auto line) {
           return line.starts_with("# nThread ") ||
                  (line.starts_with('#') && is_nccl_header(fields_of(line)));
         });
}

std::vector<Record> read_nccl_tests(const PaddedText& text, const std::string& source) {
  NcclRun run;
  NcclTable table;
  std::size_t number = 0;
  for (const std::string_view line : lines_of(text.view())) {
    ++number;
    const Fields fields = fields_of(line);
    const bool is_row =
        run.columns.count > 0 && fields.size() > 1 && to_integer(fields[0]) && to_integer(fields[1]);
    if (is_row) {
      table.add(fields, run, fmt::format("{}: line {}", source, number));
    } else {
      read_nccl_heading(line, fields, run);
    }
  }
  std::vector<Record> records = table.records();
  if (records.empty()) throw Error(source + ": has no row of results below the header of nccl-tests");
  return records;
}

}  // namespace

/// Text of nccl-tests and rccl-tests (read). Rows of one case are samples.
Format nccl_tests_format() {
  return {.name = "nccl-tests",
          .summary = "text of nccl-tests",
          .recognises = is_nccl_tests,
          .read = read_nccl_tests};
}

}  // namespace headroom
