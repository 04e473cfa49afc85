// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headroom/base/json.h"
#include "headroom/record/dispatch_expectation.h"

namespace headroom {

/// What made a record. Decides how it is shown.
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

/// What the hardware counters of a run count.
enum class CounterScope { kUnknown, kAll, kUserSpace, kNone };

const char* to_string(CounterScope scope);

/// The options and results of a run that its records need to be shown again.
struct InstrumentOptions {
  bool per_rank = false;                            ///< show the medians of each rank
  std::optional<double> margin{};                   ///< of the verdicts of `ab`, as a share
  CounterScope counters = CounterScope::kUnknown;   ///< of `ab` and `time`
  std::string no_counters{};                        ///< why, with kNone
  std::vector<DispatchExpectation> expectations{};  ///< of `dispatch`
  Json cache_run{};                                 ///< of `cache`, as cache_run_json(); null: none
  std::vector<std::string> traces{};                ///< of `trace`: files and folders that it read
  bool writes_file = false;                         ///< of `trace`: it wrote a file beside its tables

  bool operator==(const InstrumentOptions&) const = default;
};

}  // namespace headroom
