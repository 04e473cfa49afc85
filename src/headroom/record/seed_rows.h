// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "headroom/record/record.h"

namespace headroom {

/// A cell that may hold a number or its text, as in the rows of PyTorch's gpt-fast benchmark. A text is
/// written as it stands, a double with six decimals; monostate is an empty cell.
using SeedNumber = std::variant<std::monostate, std::int64_t, double, std::string>;

/// One row of that benchmark's result files.
struct SeedRow {
  std::string name;
  std::string metric;
  SeedNumber target;
  SeedNumber actual;
  std::string dtype;
  std::string device;
  std::string arch;
  bool is_model = false;

  // Not in the files: what the mean was made from.
  std::string experiment;
  std::string unit;
  Direction direction = Direction::kHigherIsBetter;
  std::string backend;
  std::string runner;
  std::size_t shapes = 0;            ///< cases that went into the mean
  std::vector<const Record*> cases;  ///< these
  std::size_t left_out = 0;          ///< cases that were skipped or failed
};

/// The mean over the shapes (every axis but dtype) per experiment, backend, runner, dtype and metric, from
/// the headline record of each case; in the order of first appearance. A group without a measured case gives
/// no row. The rows of the first backend and runner of an experiment have the experiment's name; those of any
/// other are called "gemv (reference)", since the files have no column for it. The target is the mean of the
/// cases' targets, empty unless each case has one. What is_miscounted() is in no mean but in a row of its
/// own, called "gemv (above its limit)".
std::vector<SeedRow> seed_rows(const std::vector<Record>& records);

}  // namespace headroom
