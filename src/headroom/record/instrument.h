// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headroom/base/json.h"
#include "headroom/record/dispatch_expectation.h"

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
