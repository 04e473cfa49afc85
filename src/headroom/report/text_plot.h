// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace headroom {

struct PlotLine {
  std::string name;
  /// In any order; points outside the domain are dropped.
  std::vector<std::pair<double, double>> points;
  std::string sign{};  ///< marker, one column wide; empty: by index
};

struct PlotOptions {
  std::size_t width = 70;   ///< characters, labels included; >= 20
  std::size_t height = 18;  ///< lines of the drawing area; >= 3
  bool log_x = true;        ///< ticks at powers of two
  bool log_y = false;
  bool bytes_x = true;  ///< label a logarithmic x axis in bytes
  bool legend = true;
  std::string x_label = "working set";
  std::string y_label = "GB/s";
};

/// Plots in text. A linear y axis starts at 0 unless a value is negative.
std::string line_plot(std::span<const PlotLine> series, const PlotOptions& options = {});

/// Draws a histogram of `bins` characters from the minimum to the 95th percentile, larger values in the last
/// bin: "▁▂█▃ ▁". Empty without values.
std::string spark(std::span<const double> values, std::size_t bins, bool ascii);

}  // namespace headroom
