// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <regex.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "headroom/compare/compared_ratio.h"
#include "headroom/compare/diff_report.h"
#include "headroom/compare/verdict.h"
#include "headroom/console/command.h"
#include "headroom/record/record.h"

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

/// An extended regular expression (POSIX) that a name may hold anywhere. Unlike std::regex it does not
/// overflow the stack on long names.
class NamePattern {
 public:
  /// Throws Error where `expression` is none.
  explicit NamePattern(const std::string& expression);
  ~NamePattern();
  NamePattern(const NamePattern&) = delete;
  NamePattern& operator=(const NamePattern&) = delete;

  bool is_in(const std::string& name) const;

 private:
  regex_t compiled_{};
};

struct DiffOptions {
  std::string baseline;
  std::vector<std::string> tests;
  bool ddp_form = false;  ///< --format ddp
  bool markdown = false;
  std::string json;                  ///< file, "-", or empty
  std::vector<std::string> metrics;  ///< empty: one row a case
  bool all_metrics = false;
  std::vector<std::string> higher_is_better, lower_is_better;  ///< metrics whose direction the user states
  std::string filter;  ///< regular expression on the name of the case; empty: all
  enum class Sort { kNone, kName, kRatio, kTime } sort = Sort::kNone;
  std::vector<double> percentiles;
  bool shift = false;
  bool gate = false;
  std::vector<TailMargin> tails;  ///< of the gate
  JudgeRule judge;
  std::optional<double> run_spread;  ///< that the user states, as a share
  bool across_machines = false;
  std::string confirm;     ///< command that measures a regression again; empty: none
  std::string max_memory;  ///< --max-memory as given
  std::string store;       ///< history that '@...' operands are runs of
  std::string from;        ///< format of the files; empty: that of their content
};

/// One operand, ready to be matched.
struct DiffSide {
  std::string label;
  std::vector<Record> records;
  std::vector<std::string> metrics;  ///< of all its records, for messages
};

/// What an operand of a comparison gives: its records as the options select them, runs of one case joined.
/// Says what was joined or could not be read. Throws Error where nothing is left.
DiffSide read_side(const std::string& operand, const DiffOptions& options);

/// The cases of each test against those of the baseline, judged and sorted as the options say. Points into
/// the sides. Throws Error where a gate is asked for and the sides are of two machines.
DiffReport compare_sides(const DiffSide& baseline, const std::vector<DiffSide>& tests,
                         const DiffOptions& options);

}  // namespace headroom::cli
