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

/// A cell of PyTorch's gpt-fast benchmark: text unchanged, a double with six decimals, monostate empty.
using SeedNumber = std::variant<std::monostate, std::int64_t, double, std::string>;

struct SeedRow {
  std::string name;
  std::string metric;
  SeedNumber target;
  SeedNumber actual;
  std::string dtype;
  std::string device;
  std::string arch;
  bool is_model = false;

  // Origin of the mean; not written to files.
  std::string experiment;
  std::string unit;
  Direction direction = Direction::kHigherIsBetter;
  std::string backend;
  std::string runner;
  std::size_t shapes = 0;  ///< cases in the mean
  std::vector<const Record*> cases;
  std::size_t left_out = 0;  ///< skipped or failed cases
};

/// Returns means over all axes but dtype per experiment, backend, runner, dtype and metric, from headline
/// records of measured cases. The first backend and runner have the experiment's name, others "gemv
/// (reference)". The mean target is empty unless every case has one. Cases with is_miscounted() get a row
/// "gemv (above its limit)".
std::vector<SeedRow> seed_rows(const std::vector<Record>& records);

/// Adds `rows` to `previous`. Replaces a header shorter than ours, keeps others, and pads short lines with
/// "0". Throws Error if `previous` is not CSV.
std::string seed_csv_text(std::span<const SeedRow> rows, std::string_view previous,
                          const std::string& source);

std::string seed_jsonl_text(std::span<const SeedRow> rows, std::string_view previous);

std::filesystem::path seed_jsonl_path(const std::filesystem::path& csv);

}  // namespace headroom
