// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// Functions' own instructions or sampled time, without the functions that they call. Joined by name; names
/// have no control characters, line ends or tabs.
struct FunctionCosts {
  double total = 0;
  std::map<std::string, double> by_function;  ///< empty if they do not sum up to the total
  std::size_t samples = 0;                    ///< 0: counted, not sampled

  void add(const FunctionCosts& other);
};

/// Reads the instructions (event Ir) of callgrind's output; nothing without a total.
/// Source: Valgrind's manual, "Callgrind Format Specification".
std::optional<FunctionCosts> parse_callgrind(std::string_view text);

/// Reads lines of `perf report --field-separator` with period, samples and symbol; skips others.
FunctionCosts parse_perf_report(std::string_view text, char separator);

struct FunctionDifference {
  std::string function;
  double share = 0;  ///< of the baseline's total
};

/// Omits differences below `least`, and of samples those within three standard errors.
std::vector<FunctionDifference> largest_differences(const FunctionCosts& baseline, const FunctionCosts& test,
                                                    double least, std::size_t count = 3);

}  // namespace headroom
