// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/record/record.h"

namespace headroom {

/// How much slower a case may be without being called a regression.
struct MarginRule {
  std::string name = "*";    ///< pattern of case_name(): '*' any characters, '?' one
  std::string metric = "*";  ///< pattern of the metric's name
  double margin = 0;
};

struct Margins {
  double overall = 0.01;
  std::vector<MarginRule> rules;  ///< the last that fits counts
};

/// The margin for a record: the last rule that fits, else the overall one.
double margin_of(const Margins& margins, const Record& record);

/// Reads a gate file:
///
///     margin = "3%"              # for all cases; or 0.03
///
///     [[case]]
///     name = "gemv D=*"          # '*' any characters, '?' one
///     metric = "latency"         # may be left out
///     margin = "5%"
///
/// `source` names the text in errors. Throws Error with line and column: not TOML, a key that is unknown or
/// missing, a margin that is no share from 0 up to 100 %.
struct GateFile {
  std::optional<double> margin;
  std::vector<MarginRule> rules;
};
GateFile parse_gate_file(std::string_view text, const std::string& source);
GateFile read_gate_file(const std::filesystem::path& path);

/// "3%" or "0.03" as a share from 0 up to 1 (not included). Throws Error.
double parse_margin(std::string_view text);

}  // namespace headroom
