// SPDX-License-Identifier: Apache-2.0
#include "headroom/report/roofline_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "headroom/base/units.h"

namespace headroom {
namespace {

// In pixels.
constexpr double kLeft = 70, kTop = 50, kWidth = 640, kHeight = 440, kLine = 16;
/// More than a character of the legend is wide, in any sans-serif font of its size.
constexpr double kCharacter = 7.5;

/// Okabe and Ito's colours, which colour-blind readers tell apart; one for each experiment and backend.
constexpr std::array<const char*, 7> kColours{"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                              "#E69F00", "#56B4E9", "#000000"};

std::string xml_text(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '&') {
      result += "&amp;";
    } else if (c == '<') {
      result += "&lt;";
    } else if (c == '>') {
      result += "&gt;";
    } else if (c == '"') {
      result += "&quot;";
    } else {
      result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return result;
}

std::string text_at(double x, double y, const char* attributes, std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, attributes, xml_text(text));
}

class Drawing {
 public:
  explicit Drawing(const RooflineFrame& frame) : frame_(frame) {}

  double x(double intensity) const {
    return kLeft + kWidth * std::log(intensity / frame_.x_low) / std::log(frame_.x_high / frame_.x_low);
  }
  double y(double gflops) const {
    return kTop + kHeight * (1 - std::log(gflops / frame_.y_low) / std::log(frame_.y_high / frame_.y_low));
  }

  std::string axes(const std::string& units) const {
    std::string svg =
        fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#444\"/>\n",
                    kLeft, kTop, kWidth, kHeight);
    for (double tick = std::exp2(std::ceil(std::log2(frame_.x_low))); tick <= frame_.x_high; tick *= 2) {
      svg += grid(x(tick), kTop, x(tick), kTop + kHeight);
      svg += text_at(x(tick), kTop + kHeight + 18, "text-anchor=\"middle\"", format_number(tick));
    }
    for (double tick = std::pow(10, std::ceil(std::log10(frame_.y_low))); tick <= frame_.y_high; tick *= 10) {
      svg += grid(kLeft, y(tick), kLeft + kWidth, y(tick));
      svg += text_at(kLeft - 8, y(tick) + 4, "text-anchor=\"end\"", format_number(tick));
    }
    svg += text_at(kLeft + kWidth / 2, kTop + kHeight + 40, "text-anchor=\"middle\"", "FLOP/byte");
    return svg + text_at(kLeft - 50, kTop - 12, "", units);
  }

  std::string roof(const Roof& roof, const Roofline& roofline) const {
    const auto [from, to] = ends_of(roof, roofline, frame_);
    const double x1 = x(from.first), y1 = y(from.second), x2 = x(to.first), y2 = y(to.second);
    const bool is_peak = roof.kind == Roof::Kind::kPeak;
    std::string svg = fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#777\" "
        "stroke-width=\"1.5\"{}/>\n",
        x1, y1, x2, y2, is_peak ? "" : " stroke-dasharray=\"6 3\"");
    const std::string label =
        fmt::format("{}: {} {}", name_of(roof), format_number(roof.rate), unit_of(roof));
    if (is_peak) return svg + text_at(x2 - 4, y2 - 4, "text-anchor=\"end\" fill=\"#555\"", label);
    const double angle = std::atan2(y2 - y1, x2 - x1) * 180 / 3.141592653589793;
    return svg +
           text_at(
               x1 + 6, y1 - 6,
               fmt::format("fill=\"#555\" transform=\"rotate({:.2f} {:.1f} {:.1f})\"", angle, x1, y1).c_str(),
               label);
  }

  std::string point(const RooflineCase& one, std::size_t number, const char* colour) const {
    const double at_x = x(one.intensity), at_y = y(one.gflops);
    std::string svg;
    if (one.interval && one.interval->low > 0) {
      svg += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n",
                         at_x, y(one.interval->low), at_x, y(one.interval->high), colour);
    }
    svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\"><title>{}</title></circle>\n",
                       at_x, at_y, colour, xml_text(one.name + " " + one.backend + " " + one.dtype));
    return svg + text_at(at_x + 6, at_y + 4, "font-size=\"10\"", std::to_string(number));
  }

 private:
  static std::string grid(double x1, double y1, double x2, double y2) {
    return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#ddd\"/>\n",
                       x1, y1, x2, y2);
  }

  RooflineFrame frame_;
};

std::string legend_line(const RooflineCase& one, std::size_t number) {
  const std::string spread =
      one.interval ? fmt::format(" ±{:.1f} %", relative_half_width(*one.interval, one.gflops) * 100) : "";
  const std::string share = one.limit ? ", " + format_percent(one.limit->fraction) + " of its limit" : "";
  return fmt::format("{} {} {} {}: {} {}{}, n={}{}", number, one.name, one.backend, one.dtype,
                     format_number(one.gflops), one.unit, spread, one.samples, share);
}

}  // namespace

std::string roofline_svg(const Roofline& roofline, const std::string& title) {
  const Drawing drawing(frame_of(roofline));
  const double rows = kTop + kLine * static_cast<double>(roofline.cases.size() + 1);
  std::size_t longest = 0;
  for (const RooflineCase& one : roofline.cases) longest = std::max(longest, legend_line(one, 99).size());
  std::string svg = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" "
      "height=\"{}\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"white\"/>\n",
      kLeft + kWidth + 20 + kCharacter * static_cast<double>(longest), std::max(kTop + kHeight + 60, rows));
  svg += text_at(kLeft, 20, "font-size=\"15\"", title) + drawing.axes(units_of(roofline.cases));
  for (const Roof& roof : roofline.roofs) svg += drawing.roof(roof, roofline);
  std::map<std::string, std::size_t> colours;
  for (std::size_t i = 0; i < roofline.cases.size(); ++i) {
    const RooflineCase& one = roofline.cases[i];
    const std::string kind = one.name.substr(0, one.name.find(' ')) + " " + one.backend;
    const std::size_t place = colours.try_emplace(kind, colours.size()).first->second;
    const char* colour = kColours[place % kColours.size()];
    svg += drawing.point(one, i + 1, colour);
    svg += text_at(kLeft + kWidth + 20, kTop + kLine * static_cast<double>(i + 1),
                   fmt::format("fill=\"{}\"", colour).c_str(), legend_line(one, i + 1));
  }
  return svg + "</svg>\n";
}

}  // namespace headroom
