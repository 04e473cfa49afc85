// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/record/record.h"

namespace headroom {

/// What an operator's dispatch is expected to cost: one [[expect]] table of a TOML file.
struct DispatchExpectation {
  std::string op, metric;                      ///< of a record: "add", "propagation"
  std::string mesh, placements, shape, dtype;  ///< as the record's axes have them; empty: any
  double value_us = 0;
  double tolerance = 0.20;  ///< a share of the value
  std::string note;
};

/// Throws Error naming line and column of what does not fit.
std::vector<DispatchExpectation> parse_dispatch_expectations(std::string_view text,
                                                             const std::string& source);
/// What PyTorch's own test expects of its distributed tensor, on another kind of machine: shipped as a
/// reference.
std::vector<DispatchExpectation> pytorch_dispatch_expectations();
/// The file that parse_dispatch_expectations reads.
std::string dispatch_expectations_toml(const std::vector<DispatchExpectation>& expectations);

/// How what was measured stands to an expectation.
struct ExpectationVerdict {
  enum class Kind {
    kWithin,      ///< the whole interval is at most value * (1 + tolerance)
    kFaster,      ///< and below value * (1 - tolerance): the expectation is out of date
    kOutside,     ///< the whole interval is above
    kUnclear,     ///< the interval has both, or there is none
    kUnmeasured,  ///< no record fits
  };
  DispatchExpectation expectation;
  Kind kind = Kind::kUnmeasured;
  std::optional<Record> record;  ///< the one that it was held against, without samples
};
std::vector<ExpectationVerdict> judge_expectations(const std::vector<DispatchExpectation>& expectations,
                                                   const std::vector<Record>& records);

/// The expectations with the values that were measured in their places, and those of each operator's hit and
/// propagation that they do not have yet.
std::vector<DispatchExpectation> updated_expectations(std::vector<DispatchExpectation> expectations,
                                                      const std::vector<Record>& records);

}  // namespace headroom
