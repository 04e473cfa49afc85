// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace headroom {

/// One line of a plot.
struct PlotLine {
  std::string name;
  /// x, y in any order; points outside the scale's domain are dropped.
  std::vector<std::pair<double, double>> points;
  std::string sign{};  ///< of its points, one column wide; empty: chosen by index
};

struct PlotOptions {
  std::size_t width = 70;   ///< characters, labels included; at least 20
  std::size_t height = 18;  ///< lines of the drawing area; at least 3
  bool log_x = true;        ///< ticks at powers of two; otherwise a linear axis
  bool log_y = false;
  bool bytes_x = true;  ///< label a logarithmic x axis in bytes; otherwise in plain numbers
  bool legend = true;   ///< add a line that names the signs
  std::string x_label = "working set";
  std::string y_label = "GB/s";
};

/// Plots in plain text: a sign for each series, points joined by dots, axes, labels and a legend. A linear y
/// axis starts at 0 unless a value is negative. Says so if there are no points.
std::string line_plot(std::span<const PlotLine> series, const PlotOptions& options = {});

/// Draws a histogram of `bins` characters from the minimum to the 95th percentile, with larger values in the
/// last bin: "▁▂█▃ ▁". A blank is an empty bin. `ascii`: use ASCII signs. Empty without values.
std::string spark(std::span<const double> values, std::size_t bins, bool ascii);

}  // namespace headroom
