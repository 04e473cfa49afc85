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

/// The headline number of an analysis. Becomes a Record, a row per rank, and a line of a diff.
struct Headline {
  std::string metric;  ///< "utilization"
  Kind kind = Kind::kNumber;
  bool lower_is_better = true;
  double value = 0;
  std::string device;  ///< "0"; empty: the whole trace
};

/// A file that the user asked an analysis for. The caller writes it; the analysis touches no file.
struct OutputFile {
  std::string path;     ///< as the option gave it
  std::string content;  ///< all of it
};

struct RankSummary;

/// The result of analysing one trace, unformatted.
struct AnalysisResult {
  std::vector<std::string> doubts;    ///< why figures may be wrong: "1 impossible duration left out"
  std::vector<std::string> standing;  ///< sentences above the answer: where the time of a step goes
  std::vector<std::string> answer;    ///< the sentences shown first
  std::vector<DataTable> tables;
  std::vector<Headline> headlines;
  std::vector<std::string> notes;  ///< sentences: warnings, assumptions, next steps
  std::vector<OutputFile> files;   ///< only for a single trace; combine ignores them
  std::size_t ranks = 0;           ///< combined in it; 0: of one trace
  /// For Analysis::combine, and the findings for pages; null if the analysis has none.
  std::shared_ptr<const RankSummary> summary;
};

/// The result of one rank.
struct RankResult {
  std::string source;
  std::int64_t rank = 0;
  AnalysisResult result;
};

/// An option of one analysis: --name VALUE, or --name alone where `value` is empty.
struct AnalysisOption {
  const char* name;          ///< "threshold"
  const char* value;         ///< "TIME"; "": a flag
  const char* default_text;  ///< "1us"; "" none
  const char* help;
};

/// Option values as text. The code that fills it checks them against the analysis's own list.
class AnalysisOptions {
 public:
  std::size_t top = 20;  ///< rows of long tables; 0: all
  void set(const std::string& name, std::string value) { values_[name] = std::move(value); }
  bool flag(const std::string& name) const { return values_.contains(name); }
  /// The value given, else `fallback`.
  std::string text(const std::string& name, const std::string& fallback = "") const;
  /// As a number, a time (ns; "10us") or a size. Throws Error naming the option and the value.
  double number(const std::string& name, double fallback) const;
  double time_ns(const std::string& name, double fallback_ns) const;
  /// Like time_ns, rounded and clamped to 64 bits.
  std::int64_t whole_time_ns(const std::string& name, std::int64_t fallback_ns) const;

 private:
  std::map<std::string, std::string> values_;
};

/// An analysis: columns in, tables out. Pure: no files, no printing, no clock.
struct Analysis {
  const char* name;     ///< "idle"
  const char* summary;  ///< one line for --help
  Needs needs;
  AnalysisResult (*analyze)(const TraceIndex&, const AnalysisOptions&);
  std::span<const AnalysisOption> options;
  /// Combines the ranks of a job into one result. Null: combine_headlines.
  AnalysisResult (*combine)(std::span<const RankResult>, const AnalysisOptions&);
  /// Additional needs with these options ("--by shape" needs more than the default); null: none.
  Needs (*needs_with)(const AnalysisOptions&) = nullptr;
  /// Replaces `needs` for traces larger than kLargeTrace, so that a default run does not take gigabytes of
  /// memory.
  std::optional<Needs> needs_of_large = {};
  /// True if its figures say when things happened: it has none for files without times (has_times).
  bool needs_times = false;
};

/// Bytes of unpacked text.
inline constexpr std::uint64_t kLargeTrace = std::uint64_t{700} << 20;

/// Returns what the reader must keep for the analysis with these options.
Needs needs_of(const Analysis& analysis, const AnalysisOptions& options);

/// Every analysis, in the order of the help.
std::span<const Analysis* const> analyses();
/// Returns nullptr for an unknown name.
const Analysis* find_analysis(std::string_view name);

/// Default for Analysis::combine: a row per rank of the headlines, with their spread.
AnalysisResult combine_headlines(std::span<const RankResult> ranks);

/// Keeps the first `top` rows (0: all) and returns how many were left out.
std::size_t keep_top(DataTable& table, std::size_t top);

}  // namespace headroom::trace
