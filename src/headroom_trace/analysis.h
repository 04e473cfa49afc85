// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headroom_trace/columns/trace.h"
#include "headroom_trace/readers/read.h"
#include "headroom_trace/tables/data_table.h"

namespace headroom::trace {

class TraceIndex;

/// The main number of an analysis.
struct Headline {
  std::string metric;  ///< "utilization"
  Kind kind = Kind::kNumber;
  bool lower_is_better = true;
  double value = 0;
  std::string device = {};  ///< "0"; empty: the whole trace
};

/// Requested by the user, written by the caller.
struct OutputFile {
  std::string path;
  std::string content;
};

struct RankSummary;

struct AnalysisResult {
  std::vector<std::string> doubts;    ///< why figures may be wrong: "1 impossible duration left out"
  std::vector<std::string> standing;  ///< above the answer: where the time of a step goes
  std::vector<std::string> answer;    ///< shown first
  std::vector<DataTable> tables;
  std::vector<Headline> headlines;
  std::vector<std::string> notes;  ///< warnings, assumptions, next steps
  std::vector<OutputFile> files;   ///< only for a single trace; combine ignores them
  std::size_t ranks = 0;           ///< combined; 0: a single trace
  /// May be null.
  std::shared_ptr<const RankSummary> summary;
};

struct RankResult {
  std::string source;
  std::int64_t rank = 0;
  AnalysisResult result;
};

/// A flag if `value` is empty.
struct AnalysisOption {
  const char* name;  ///< "threshold"
  const char* value;
  const char* default_text;  ///< "1us"; "" none
  const char* help;
};

/// Option values as text, checked by the caller.
class AnalysisOptions {
 public:
  std::size_t top = 20;  ///< rows of long tables; 0: all
  void set(const std::string& name, std::string value) { values_[name] = std::move(value); }
  bool flag(const std::string& name) const { return values_.contains(name); }
  std::string text(const std::string& name, const std::string& fallback = "") const;
  /// Parse numbers, sizes or times ("10us", in ns). Throw Error naming the option and the value.
  double number(const std::string& name, double fallback) const;
  double time_ns(const std::string& name, double fallback_ns) const;
  /// Rounded and clamped to 64 bits.
  std::int64_t rounded_time_ns(const std::string& name, std::int64_t fallback_ns) const;
  /// The value of the choice that the text names; the first choice is the default.
  template <typename Value, std::size_t kCount>
  Value choice(const std::string& name, const std::pair<const char*, Value> (&choices)[kCount]) const {
    std::vector<const char*> names;
    for (const auto& [text, value] : choices) names.push_back(text);
    return choices[choice_of(name, names)].second;
  }

 private:
  std::size_t choice_of(const std::string& name, std::span<const char* const> choices) const;

  std::map<std::string, std::string> values_;
};

/// A pure function from columns to tables.
struct Analysis {
  const char* name;  ///< "idle"
  const char* summary;
  Needs needs;
  AnalysisResult (*analyze)(const TraceIndex&, const AnalysisOptions&);
  std::span<const AnalysisOption> options = {};
  /// Null: combine_headlines.
  AnalysisResult (*combine)(std::span<const RankResult>, const AnalysisOptions&) = nullptr;
  /// Additional needs of these options; may be null.
  Needs (*needs_with)(const AnalysisOptions&) = nullptr;
  /// Replaces `needs` above kLargeTrace, to limit memory.
  std::optional<Needs> needs_of_large = {};
  bool needs_times = false;
};

/// Unpacked bytes.
inline constexpr std::uint64_t kLargeTrace = std::uint64_t{700} << 20;

Needs needs_of(const Analysis& analysis, const AnalysisOptions& options);

std::span<const Analysis* const> analyses();
/// Nullptr for an unknown name.
const Analysis* find_analysis(std::string_view name);

/// One row per rank, and the spread.
AnalysisResult combine_headlines(std::span<const RankResult> ranks);

AnalysisResult only_note(std::string note);

/// Keeps the first `top` rows (0: all). Returns the number removed.
std::size_t keep_top(DataTable& table, std::size_t top);

}  // namespace headroom::trace
