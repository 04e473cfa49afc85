// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace headroom {

/// What the comparison in the form of PyTorch's DDP benchmark needs of one of its reports. Members are
/// nothing where the report lacks them: it is for the one who needs them to refuse.
struct DdpReport {
  static constexpr std::array<int, 2> kPercentiles{75, 95};

  /// One rank count of one model.
  struct Round {
    std::optional<std::size_t> ranks;
    std::size_t measurements = 0;
    std::array<double, kPercentiles.size()> percentiles{};  ///< seconds; only where there are measurements
  };
  struct BatchSize {
    bool is_text = false;  ///< a string in the report, which is never equal to a number
    double value = 0;
    std::string text;  ///< as a whole number
  };
  struct Model {
    std::optional<std::string> name;
    std::optional<BatchSize> batch_size;
    std::optional<std::vector<Round>> rounds;
  };

  std::string source;                         ///< the file, for messages
  std::map<std::string, std::string> fields;  ///< all but the results, as Python's str() renders them
  std::vector<Model> models;
};

/// Throws Error: not readable, not JSON (byte offset), a value of the wrong type (path), no
/// benchmark_results.
DdpReport read_ddp_report(const std::filesystem::path& path);

}  // namespace headroom
