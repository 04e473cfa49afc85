// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headroom/trace/columns/trace.h"
#include "headroom/trace/readers/read.h"
#include "headroom/trace/tables/data_table.h"

namespace headroom::trace {

/// One number that sums an analysis up. Becomes a Record, a row per rank, and a line of a diff.
struct Headline {
  std::string metric;  ///< "utilization"
  Kind kind = Kind::kNumber;
  bool lower_is_better = true;
  double value = 0;
  std::string device;  ///< "0"; empty: the whole trace
};

/// A file that an analysis was asked for. Whoever called it writes the file; the analysis touches none.
struct OutputFile {
  std::string path;     ///< as the option gave it
  std::string content;  ///< all of it
};

/// What an analysis of one trace gives. Nothing in it is formatted yet.
struct AnalysisResult {
  std::vector<std::string> answer;  ///< sentences that come first: what a person came for
  std::vector<DataTable> tables;
  std::vector<Headline> headlines;
  std::vector<std::string> notes;  ///< sentences: what looks wrong, what was assumed, what to look at next
  std::vector<OutputFile> files;   ///< of one trace; nothing that combine reads
};

/// A result and the rank that it is of.
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

/// Option values as text, checked against the analysis's own list by whoever fills it.
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
  /// The same as a whole number; what 64 bits do not hold is the last that they do.
  std::int64_t whole_time_ns(const std::string& name, std::int64_t fallback_ns) const;

 private:
  std::map<std::string, std::string> values_;
};

/// An analysis: columns in, tables out. Pure: no files, no printing, no clock.
struct Analysis {
  const char* name;     ///< "idle"
  const char* summary;  ///< one line for --help
  Needs needs;
  AnalysisResult (*analyze)(const Trace&, const AnalysisOptions&);
  std::span<const AnalysisOption> options;
  /// Several ranks of one job into one result; null: a row per rank of the headlines with their spread.
  AnalysisResult (*combine)(std::span<const RankResult>, const AnalysisOptions&);
  /// What it needs beside `needs` with these options ("--by shape" needs more than the default); null:
  /// nothing.
  Needs (*needs_with)(const AnalysisOptions&) = nullptr;
  /// What it does with of a file whose text is larger than kLargeTrace, in place of `needs`: memory follows
  /// what is read, and who asks for nothing in particular shall not need gigabytes.
  std::optional<Needs> needs_of_large = {};
};

/// Bytes of unpacked text.
inline constexpr std::uint64_t kLargeTrace = std::uint64_t{700} << 20;

/// What a trace must be read with for the analysis to give what these options ask for.
Needs needs_of(const Analysis& analysis, const AnalysisOptions& options);

/// Every analysis, in the order of the help.
std::span<const Analysis* const> analyses();
/// nullptr when there is none.
const Analysis* find_analysis(std::string_view name);

/// What a null Analysis::combine stands for.
AnalysisResult combine_headlines(std::span<const RankResult> ranks);

/// Keeps the first `top` rows (0: all) and returns how many were left out.
std::size_t keep_top(DataTable& table, std::size_t top);

}  // namespace headroom::trace
