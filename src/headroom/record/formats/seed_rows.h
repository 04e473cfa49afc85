// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "headroom/record/record.h"

namespace headroom {

/// A number or its text, as in the rows of PyTorch's gpt-fast benchmark. Text is written unchanged, a double
/// with six decimals; monostate is an empty cell.
using SeedNumber = std::variant<std::monostate, std::int64_t, double, std::string>;

/// One row of a gpt-fast result file.
struct SeedRow {
  std::string name;
  std::string metric;
  SeedNumber target;
  SeedNumber actual;
  std::string dtype;
  std::string device;
  std::string arch;
  bool is_model = false;

  // Not written to files: the origin of the mean.
  std::string experiment;
  std::string unit;
  Direction direction = Direction::kHigherIsBetter;
  std::string backend;
  std::string runner;
  std::size_t shapes = 0;            ///< number of cases in the mean
  std::vector<const Record*> cases;  ///< the cases in the mean
  std::size_t left_out = 0;          ///< number of skipped or failed cases
};

/// Returns the means over the shapes (all axes but dtype) for each experiment, backend, runner, dtype and
/// metric, from the headline record of each case, in order of first appearance. A group without a measured
/// case has no row. The files have no column for the backend: rows of the first backend and runner are named
/// after the experiment, others "gemv (reference)". The target is the mean of the cases' targets, empty
/// unless every case has one. Cases with is_miscounted() are in no mean; each group of them has a row "gemv
/// (above its limit)".
std::vector<SeedRow> seed_rows(const std::vector<Record>& records);

/// Returns the CSV file's new content with `rows` added. Replaces a header shorter than ours and keeps any
/// other. Pads lines shorter than the header with "0". Throws Error if `previous` is not CSV.
std::string seed_csv_text(std::span<const SeedRow> rows, std::string_view previous,
                          const std::string& source);

/// Returns the file's new content with `rows` added.
std::string seed_jsonl_text(std::span<const SeedRow> rows, std::string_view previous);

/// Returns the path of the JSON file beside a CSV file: "results.csv" -> "results.json".
std::filesystem::path seed_jsonl_path(const std::filesystem::path& csv);

}  // namespace headroom
