// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "headroom/compare/compared_ratio.h"

namespace headroom::cli {

/// By identity() of a record: how far runs of it lie apart on one machine.
using RunSpreads = std::map<std::string, RunKnowledge>;

/// From the records of several runs: those of the same identity, with what they came to and their shares of
/// the limit. What was measured once is left out. `source` is put into each.
RunSpreads spreads_of(const std::vector<Record>& records, const std::string& source);

/// What `headroom run --calibrate-noise` stored for a machine; empty where it did not. Throws Error when the
/// file is damaged.
RunSpreads calibrated_spreads(const std::string& fingerprint);
/// Puts them beside those stored before, which they replace where they are of the same quantity. Returns the
/// path of the file.
std::string store_spreads(const std::string& fingerprint, const RunSpreads& spreads);

/// What the history `store` (empty: the default) tells of the newest runs on the machine that measured
/// `test`, before it did; empty where there is no history.
RunSpreads historic_spreads(const std::vector<Record>& test, const std::string& store);

/// All that is known beside the two sides of a comparison. `stated`: what the user says, as a share; then
/// nothing else counts. What cannot be read is left out, with a line on standard error.
RunSpreads known_spreads(const std::vector<Record>& test, const std::string& store,
                         const std::optional<double>& stated);

}  // namespace headroom::cli
