// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/base/json.h"

namespace headroom {

/// Source of a record; selects its view.
enum class Instrument : std::uint8_t {
  kRun,          ///< `run` and `machine`
  kCommands,     ///< `ab` and `time`
  kCache,        ///< `cache`
  kDispatch,     ///< `dispatch`
  kDdp,          ///< `ddp`
  kCollectives,  ///< `ddp --collectives`
  kTrace,        ///< `trace`
  kImport,       ///< another tool: Record::tool
};

const char* to_string(Instrument instrument);

enum class CounterScope { kUnknown, kAll, kUserSpace, kNone };

const char* to_string(CounterScope scope);

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

/// Options and results of a run that its views need.
struct InstrumentOptions {
  bool per_rank = false;
  std::optional<double> margin{};                   ///< of `ab` verdicts, as a share
  CounterScope counters = CounterScope::kUnknown;   ///< of `ab` and `time`
  std::string no_counters{};                        ///< reason for kNone
  std::vector<DispatchExpectation> expectations{};  ///< of `dispatch`
  Json cache_run{};                                 ///< of `cache`: cache_run_json(), or null
  std::vector<std::string> traces{};                ///< of `trace`: files and folders read
  bool writes_file = false;                         ///< of `trace`: it wrote a file, too

  bool operator==(const InstrumentOptions&) const = default;
};

}  // namespace headroom
