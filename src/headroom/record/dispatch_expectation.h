// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// Expected cost of an operator's dispatch: one [[expect]] table of a TOML file.
struct DispatchExpectation {
  std::string op, metric;                      ///< as in records: "add", "propagation"
  std::string mesh, placements, shape, dtype;  ///< axes of the record; empty: any
  double value_us = 0;
  double tolerance = 0.20;
  std::string note;

  bool operator==(const DispatchExpectation&) const = default;
};

/// Throws Error with line and column.
std::vector<DispatchExpectation> parse_dispatch_expectations(std::string_view text,
                                                             const std::string& source);
std::string dispatch_expectations_toml(const std::vector<DispatchExpectation>& expectations);

}  // namespace headroom
