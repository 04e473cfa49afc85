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
  /// x, y in any order; points that the scale cannot show are left out.
  std::vector<std::pair<double, double>> points;
  std::string sign{};  ///< of its points, one column wide; empty: one of the plot's own, by its place
};

struct PlotOptions {
  std::size_t width = 70;   ///< characters of the whole plot, labels included; at least 20
  std::size_t height = 18;  ///< lines of the drawing area; at least 3
  bool log_x = true;        ///< ticks at powers of two; otherwise at plain numbers
  bool log_y = false;
  bool bytes_x = true;  ///< labels of a logarithmic x axis are bytes; otherwise plain numbers
  bool legend = true;   ///< a last line that names the signs
  std::string x_label = "working set";
  std::string y_label = "GB/s";
};

/// A plot in plain text: points as a sign per series, joined by dots, with axes, labels and a legend. A
/// linear y axis starts at 0 unless there are negative values. Without a point to show it says so.
std::string line_plot(std::span<const PlotLine> series, const PlotOptions& options = {});

}  // namespace headroom
