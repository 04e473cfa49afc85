// SPDX-License-Identifier: Apache-2.0
#include "headroom/report/text_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>

#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/stats/quantile.h"
#include "headroom/tables/width.h"

namespace headroom {
namespace {

constexpr std::array<const char*, 6> kSigns{"●", "○", "▲", "□", "×", "+"};
constexpr const char* kJoin = "·";
constexpr double kMaxSteps = 6;  ///< between y ticks

using Point = std::pair<double, double>;

struct Scale {
  double low = 0, high = 1;
  bool log = false;

  double place(double value) const {
    return log ? (std::log2(value) - std::log2(low)) / (std::log2(high) - std::log2(low))
               : (value - low) / (high - low);
  }
  std::size_t cell(double value, std::size_t cells) const {
    const double at = place(value) * static_cast<double>(cells - 1);
    return static_cast<std::size_t>(std::clamp(std::lround(at), 0L, static_cast<long>(cells) - 1));
  }
};

/// Rounds up to 1, 2 or 5 times a power of ten.
double round_up_step(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= value * (1 - 1e-12)) return factor * power;
  }
  return 10 * power;
}

std::pair<double, double> range_of(const std::vector<std::vector<Point>>& lines, double Point::*coordinate) {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
  for (const auto& line : lines) {
    for (const Point& point : line) {
      low = std::min(low, point.*coordinate);
      high = std::max(high, point.*coordinate);
    }
  }
  return {low, high};
}

Scale x_scale(const std::vector<std::vector<Point>>& lines, bool log) {
  const auto [low, high] = range_of(lines, &Point::first);
  if (low == high) return log ? Scale{low / 2, high * 2, true} : Scale{low - 1, high + 1, false};
  return {low, high, log};
}

Scale y_scale(const std::vector<std::vector<Point>>& lines, bool log) {
  auto [low, high] = range_of(lines, &Point::second);
  if (log) return low == high ? Scale{low / 2, high * 2, true} : Scale{low, high, true};
  low = std::min(low, 0.0);
  high = std::max(high, 0.0);
  if (low == high) high = 1;
  const double step = round_up_step((high - low) / kMaxSteps);
  return {std::floor(low / step + 1e-9) * step, std::ceil(high / step - 1e-9) * step, false};
}

std::vector<std::string> y_labels(const Scale& scale, std::size_t height) {
  std::vector<std::string> labels(height);
  const auto put = [&](double value) {
    std::string& label = labels[height - 1 - scale.cell(value, height)];
    if (label.empty()) label = format_number(value);
  };
  if (!scale.log) {
    const double step =
        round_up_step((scale.high - scale.low) / std::min(kMaxSteps, static_cast<double>(height - 1)));
    const int count = static_cast<int>(std::floor((scale.high - scale.low) / step + 1e-9));
    for (int i = 0; i <= count; ++i) put(scale.low + i * step);
    return labels;
  }
  put(scale.low);
  put(scale.high);
  for (double power = std::pow(10, std::floor(std::log10(scale.low))); power < scale.high; power *= 10) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (factor * power > scale.low && factor * power < scale.high) put(factor * power);
    }
  }
  return labels;
}

std::vector<double> x_ticks(const Scale& scale, std::size_t width) {
  constexpr std::size_t kLabelWidth = 9;
  const std::size_t most = std::max<std::size_t>(2, width / kLabelWidth);
  std::vector<double> ticks;
  if (!scale.log) {
    const double step = round_up_step((scale.high - scale.low) / static_cast<double>(most - 1));
    for (double tick = std::ceil(scale.low / step) * step; tick <= scale.high * (1 + 1e-12); tick += step) {
      ticks.push_back(tick);
    }
    return ticks;
  }
  const int first = static_cast<int>(std::ceil(std::log2(scale.low) - 1e-9));
  const int last = static_cast<int>(std::floor(std::log2(scale.high) + 1e-9));
  int step = 1;
  while (static_cast<std::size_t>((last - first) / step) + 1 > most) ++step;
  for (int exponent = first; exponent <= last; exponent += step) ticks.push_back(std::exp2(exponent));
  return ticks;
}

class Canvas {
 public:
  Canvas(std::size_t width, std::size_t height) : cells_(height, std::vector<std::string>(width, " ")) {}

  void draw(const std::vector<Point>& line, const std::string& sign, const Scale& x, const Scale& y) {
    for (std::size_t i = 0; i + 1 < line.size(); ++i) {
      join_columns(x.cell(line[i].first, width()), x.cell(line[i + 1].first, width()),
                   y.place(line[i].second), y.place(line[i + 1].second));
    }
    for (const Point& point : line) {
      std::string& cell = cells_[row_of(y.place(point.second))][x.cell(point.first, width())];
      if (cell == " " || cell == kJoin) cell = sign;
    }
  }

  std::string row(std::size_t line) const { return join(cells_[line], ""); }

 private:
  std::size_t width() const { return cells_[0].size(); }

  std::size_t row_of(double place) const {
    const double last = static_cast<double>(cells_.size() - 1);
    return static_cast<std::size_t>(std::lround((1 - std::clamp(place, 0.0, 1.0)) * last));
  }

  void join_columns(std::size_t from, std::size_t to, double start, double end) {
    std::size_t before = row_of(start);
    const std::size_t steps = std::max<std::size_t>(to - from, 1);
    for (std::size_t step = 1; step <= steps; ++step) {
      const std::size_t column = std::min(from + step, to);
      const double t = static_cast<double>(step) / static_cast<double>(steps);
      const std::size_t here = row_of(start + t * (end - start));
      const std::size_t first = here < before ? here : std::min(before + 1, here);
      const std::size_t last = here < before ? std::max(before, here + 1) - 1 : here;
      for (std::size_t line = first; line <= last; ++line) {
        if (cells_[line][column] == " ") cells_[line][column] = kJoin;
      }
      before = here;
    }
  }

  std::vector<std::vector<std::string>> cells_;
};

std::string without_trailing_blanks(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

std::string x_axis(const Scale& scale, std::size_t margin, std::size_t width, const PlotOptions& options) {
  const std::string& label = options.x_label;
  std::vector<std::string> axis(width, "─");
  std::string labels(margin + 1, ' ');
  for (const double tick : x_ticks(scale, width)) {
    const std::size_t at = scale.cell(tick, width);
    axis[at] = "┬";
    const std::string text = scale.log && options.bytes_x ? format_bytes(tick) : format_number(tick);
    const std::size_t middle = margin + 1 + at;
    std::size_t start = middle > text.size() / 2 ? middle - text.size() / 2 : 0;
    start = std::min(start, margin + 1 + width - std::min(text.size(), margin + 1 + width));
    if (start < labels.size() && labels.find_first_not_of(' ') != std::string::npos) continue;
    labels.resize(std::min(labels.size(), start));
    labels += std::string(start - labels.size(), ' ') + text + " ";
  }
  std::string text = std::string(margin, ' ') + "└" + join(axis, "") + "\n" + without_trailing_blanks(labels);
  if (!label.empty()) {
    const std::size_t taken = display_width(label);
    text += std::string(margin + 1 + (width > taken ? (width - taken) / 2 : 0), ' ') + label + "\n";
  }
  return text;
}

/// Sorted by x.
std::vector<std::vector<Point>> finite_points(std::span<const PlotLine> series, const PlotOptions& options) {
  std::vector<std::vector<Point>> lines;
  for (const PlotLine& one : series) {
    std::vector<Point>& line = lines.emplace_back();
    for (const Point& point : one.points) {
      if (!std::isfinite(point.first) || !std::isfinite(point.second)) continue;
      if ((options.log_x && point.first <= 0) || (options.log_y && point.second <= 0)) continue;
      line.push_back(point);
    }
    std::stable_sort(line.begin(), line.end(),
                     [](const Point& a, const Point& b) { return a.first < b.first; });
  }
  return lines;
}

constexpr std::array kBlocks{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array kAsciiBlocks{" ", ".", ":", "-", "=", "+", "*", "#", "@"};
static_assert(kBlocks.size() == kAsciiBlocks.size());
constexpr double kLast = 0.95;

std::vector<std::size_t> counts_of(std::span<const double> values, std::size_t bins) {
  std::vector<double> finite;
  std::ranges::copy_if(values, std::back_inserter(finite), [](double value) { return std::isfinite(value); });
  std::vector<std::size_t> counts(bins);
  if (finite.empty()) return counts;
  const double low = std::ranges::min(finite), width = quantile(finite, kLast) - low;
  for (const double value : finite) {
    const double place = width > 0 ? (value - low) / width * static_cast<double>(bins) : 0;
    ++counts[std::min(bins - 1, static_cast<std::size_t>(std::min(place, static_cast<double>(bins))))];
  }
  return counts;
}

}  // namespace

std::string line_plot(std::span<const PlotLine> series, const PlotOptions& options) {
  const std::vector<std::vector<Point>> lines = finite_points(series, options);
  if (std::all_of(lines.begin(), lines.end(), [](const auto& line) { return line.empty(); })) {
    return "(nothing to plot)\n";
  }
  const std::size_t height = std::max<std::size_t>(options.height, 3);
  const Scale x = x_scale(lines, options.log_x), y = y_scale(lines, options.log_y);
  const std::vector<std::string> labels = y_labels(y, height);
  std::size_t margin = 0;
  for (const std::string& label : labels) margin = std::max(margin, label.size() + 1);
  const std::size_t width = std::max<std::size_t>(options.width, 20) - margin - 1;

  Canvas canvas(width, height);
  std::string legend;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string sign = series[i].sign.empty() ? kSigns[i % kSigns.size()] : series[i].sign;
    canvas.draw(lines[i], sign, x, y);
    const std::string entry = fmt::format("  {} {}", sign, series[i].name);
    const std::size_t line = legend.rfind('\n') + 1;  // 0 without one
    if (line < legend.size() && display_width(legend.substr(line)) + display_width(entry) > width)
      legend += '\n';
    legend += entry;
  }
  std::string text = options.y_label.empty() ? "" : options.y_label + "\n";
  for (std::size_t line = 0; line < height; ++line) {
    text += without_trailing_blanks(fmt::format("{:>{}} {}{}", labels[line], margin - 1,
                                                labels[line].empty() ? "│" : "┤", canvas.row(line)));
  }
  text += x_axis(x, margin, width, options);
  return options.legend ? text + without_trailing_blanks(legend) : text;
}

std::string spark(std::span<const double> values, std::size_t bins, bool ascii) {
  if (values.empty() || bins == 0) return {};
  const std::vector<std::size_t> counts = counts_of(values, bins);
  const std::size_t most = std::max<std::size_t>(1, std::ranges::max(counts));
  const std::size_t highest = kBlocks.size() - 1;
  std::string text;
  for (const std::size_t count : counts) {
    const std::size_t level = (count * highest + most - 1) / most;
    text += ascii ? kAsciiBlocks[level] : kBlocks[level];
  }
  return text;
}

}  // namespace headroom
