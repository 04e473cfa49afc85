// SPDX-License-Identifier: Apache-2.0
#include "headroom/report/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <utility>

#include "headroom/base/text.h"
#include "headroom/base/units.h"

namespace headroom {
namespace {

/// Relative to the font size.
constexpr double kWide = 1.08, kUpper = 0.82, kLower = 0.64, kNarrow = 0.46;
constexpr double kAscent = 1.0, kDescent = 0.25;

bool continues_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80;
}

double width_of(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (byte >= 0x80 || std::string_view("mMW@%").find(c) != std::string_view::npos) return kWide;
  if (std::isupper(byte) != 0 || std::string_view("w+=<>~^#&").find(c) != std::string_view::npos)
    return kUpper;
  return std::isalnum(byte) != 0 || c == '_' || c == '$' || c == '?' || c == '*' ? kLower : kNarrow;
}

std::size_t fitting_length(std::string_view text, double max_width, double font_size) {
  double width = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (continues_character(text[i])) continue;
    width += width_of(text[i]) * font_size;
    if (i > 0 && width > max_width) return i;
  }
  return text.size();
}

// pixels
constexpr double kLeft = 76, kTop = 56, kWidth = 640, kHeight = 440, kRight = kLeft + kWidth;
constexpr double kTotalWidth = kRight + 44, kMargin = 16;
constexpr double kFont = 12, kTitleFont = 15, kTagFont = 11, kLine = 17, kTagLine = 15;
constexpr double kRadius = 4;
constexpr double kTickMargin = 56;
constexpr int kFarthest = 6;

/// Okabe and Ito's colours for colour-blind readers, on light and dark backgrounds.
constexpr std::array<std::pair<const char*, const char*>, 7> kColours{{{"#0072B2", "#56A8E0"},
                                                                       {"#D55E00", "#F58A42"},
                                                                       {"#009E73", "#2CC79A"},
                                                                       {"#B4578E", "#DE9BC2"},
                                                                       {"#9A6A00", "#E6B040"},
                                                                       {"#2A7FA8", "#8CCBEF"},
                                                                       {"#000000", "#F0F0F0"}}};

/// Attributes hold the light style, for programs without style sheets.
std::string style() {
  std::string css =
      ".ground{fill:#0d1117}.ink{fill:#e6edf3}.grid{stroke:#2d333b}.frame{stroke:#9aa4af}"
      ".roof{stroke:#9aa4af}";
  for (std::size_t i = 0; i < kColours.size(); ++i)
    css += fmt::format(".f{0}{{fill:{1}}}.s{0}{{stroke:{1}}}", i, kColours[i].second);
  return "<style>@media (prefers-color-scheme: dark){" + css + "}</style>\n";
}

std::string fill_of(std::size_t colour) {
  return fmt::format("class=\"f{}\" fill=\"{}\"", colour, kColours[colour].first);
}

std::string line_of(double x1, double y1, double x2, double y2, const std::string& attributes) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1, y1, x2, y2,
                     attributes);
}

constexpr const char* kInk = "class=\"ink\" fill=\"#222\"";
constexpr const char* kGrid = "class=\"grid\" stroke=\"#ddd\"";

std::string text_at(double x, double y, double size, const std::string& attributes, std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{}\" {}>{}</text>\n", x, y, size,
                     attributes, xml_text(text));
}

std::string centred_text(double x, double y, double size, const std::string& attributes,
                         std::string_view text) {
  return text_at(x, y, size, attributes + " text-anchor=\"middle\"", text);
}

std::string roof_tag(std::size_t index) {
  const std::string letter(1, static_cast<char>('A' + index % 26));
  return index < 26 ? letter : letter + std::to_string(index / 26);
}

class Drawing {
 public:
  explicit Drawing(const Roofline& roofline) : roofline_(roofline), frame_(frame_of(roofline)) {}

  double x(double intensity) const {
    return kLeft + kWidth * std::log(intensity / frame_.x_low) / std::log(frame_.x_high / frame_.x_low);
  }
  double y(double gflops) const {
    return kTop + kHeight * (1 - std::log(gflops / frame_.y_low) / std::log(frame_.y_high / frame_.y_low));
  }

  std::string axes() const {
    std::string svg = fmt::format(
        "<rect class=\"frame\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" "
        "stroke=\"#444\"/>\n",
        kLeft, kTop, kWidth, kHeight);
    const double octaves = std::log2(frame_.x_high / frame_.x_low);
    const double step = std::exp2(std::max(1.0, std::ceil(octaves * kTickMargin / kWidth)));
    for (double tick = std::exp2(std::ceil(std::log2(frame_.x_low))); tick <= frame_.x_high; tick *= step) {
      svg += line_of(x(tick), kTop, x(tick), kTop + kHeight, kGrid);
      svg += centred_text(x(tick), kTop + kHeight + 18, kTagFont, kInk, format_number(tick));
    }
    for (double tick = std::pow(10, std::ceil(std::log10(frame_.y_low))); tick <= frame_.y_high; tick *= 10) {
      svg += line_of(kLeft, y(tick), kRight, y(tick), kGrid);
      svg += text_at(kLeft - 8, y(tick) + 4, kTagFont, std::string(kInk) + " text-anchor=\"end\"",
                     format_number(tick));
    }
    svg += centred_text(kLeft + kWidth / 2, kTop + kHeight + 38, kFont, kInk, "FLOP/byte");
    return svg + text_at(kMargin, kTop - 14, kFont, kInk, units_of(roofline_.cases));
  }

  std::string roofs() {
    std::string svg;
    std::vector<Tag> left, right;
    for (std::size_t i = 0; i < roofline_.roofs.size(); ++i) {
      const auto [from, to] = ends_of(roofline_.roofs[i], roofline_, frame_);
      const double x1 = x(from.first), y1 = y(from.second), x2 = x(to.first), y2 = y(to.second);
      const bool is_peak = roofline_.roofs[i].kind == Roof::Kind::kPeak;
      svg += line_of(x1, y1, x2, y2,
                     std::string("class=\"roof\" stroke=\"#777\" stroke-width=\"1.5\"") +
                         (is_peak ? "" : " stroke-dasharray=\"6 3\""));
      (is_peak ? right : left).push_back({roof_tag(i), is_peak ? y2 + 4 : y1 - 3});
    }
    return svg + column(left, kLeft + 5) + column(right, kRight + 6);
  }

  std::string interval(const RooflineCase& one, std::size_t colour) const {
    if (!one.interval || one.interval->low <= 0) return "";
    const auto within = [](double at) { return std::clamp(at, kTop, kTop + kHeight); };
    const double at = x(one.intensity);
    return line_of(at, within(y(one.interval->low)), at, within(y(one.interval->high)),
                   fmt::format("class=\"s{}\" stroke=\"{}\"", colour, kColours[colour].first));
  }

  std::string point(const RooflineCase& one, std::size_t colour) {
    const double at_x = x(one.intensity), at_y = y(one.gflops);
    taken_.push_back({at_x - kRadius, at_y - kRadius, at_x + kRadius, at_y + kRadius});
    return fmt::format("<circle {} cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"><title>{}</title></circle>\n",
                       fill_of(colour), at_x, at_y, kRadius,
                       xml_text(one.name + " " + one.backend + " " + one.dtype));
  }

  /// Omits the number if nothing fits. Call after all points are placed.
  std::string number(const RooflineCase& one, std::size_t index, std::size_t colour) {
    const std::string text = std::to_string(index + 1);
    const double width = svg_text_width(text, kTagFont);
    for (int far = 0; far < kFarthest; ++far) {
      const double away = kRadius + 2 + 9 * far;
      const double at_x = x(one.intensity), at_y = y(one.gflops);
      const std::array<std::pair<double, double>, 4> places{{{at_x + away, at_y + 4},
                                                             {at_x - away - width, at_y + 4},
                                                             {at_x - width / 2, at_y - away},
                                                             {at_x - width / 2, at_y + away + kTagFont}}};
      for (const auto& [left, base] : places) {
        const SvgBox box = svg_text_box(left, base, text, kTagFont);
        if (!is_free(box)) continue;
        taken_.push_back(box);
        return text_at(left, base, kTagFont, fill_of(colour), text);
      }
    }
    return "";
  }

 private:
  struct Tag {
    std::string text;
    double y;
  };

  /// Drops tags beyond the frame.
  std::string column(std::vector<Tag> tags, double left) {
    constexpr double kLowest = kTop + kHeight - 4;
    std::ranges::sort(tags, {}, &Tag::y);
    double least = kTop + kTagLine;
    for (Tag& tag : tags) {
      tag.y = std::max(tag.y, least);
      least = tag.y + kTagLine;
    }
    double most = kLowest;
    for (auto tag = tags.rbegin(); tag != tags.rend(); ++tag) {
      tag->y = std::min(tag->y, most);
      most = tag->y - kTagLine;
    }
    std::string svg;
    for (const Tag& tag : tags) {
      if (tag.y < kTop + kTagFont) continue;
      taken_.push_back(svg_text_box(left, tag.y, tag.text, kTagFont));
      svg += text_at(left, tag.y, kTagFont, std::string(kInk) + " font-weight=\"bold\"", tag.text);
    }
    return svg;
  }

  bool is_free(const SvgBox& box) const {
    const bool inside =
        box.left >= kLeft && box.right <= kRight && box.top >= kTop && box.bottom <= kTop + kHeight;
    return inside && std::ranges::none_of(taken_, [&](const SvgBox& other) { return box.overlaps(other); });
  }

  const Roofline& roofline_;
  RooflineFrame frame_;
  std::vector<SvgBox> taken_;
};

std::string legend_line(const RooflineCase& one, std::size_t number) {
  const std::string spread =
      one.interval ? fmt::format(" ±{:.1f} %", relative_half_width(*one.interval, one.gflops) * 100) : "";
  const std::string share = one.limit ? ", " + format_percent(one.limit->fraction) + " of its limit" : "";
  return fmt::format("{} {} {} {}: {} {}{}, n={}{}{}", number, one.name, one.backend, one.dtype,
                     format_number(one.gflops), one.unit, spread, one.samples, share,
                     one.counted ? ", bytes counted" : "");
}

class Legend {
 public:
  void add(const std::string& text, const std::string& attributes) {
    for (const std::string& line : svg_lines(text, kTotalWidth - 2 * kMargin, kFont)) {
      svg_ += text_at(kMargin, bottom_, kFont, attributes, line);
      bottom_ += kLine;
    }
  }
  const std::string& svg() const { return svg_; }
  double bottom() const { return bottom_; }

 private:
  std::string svg_;
  double bottom_ = kTop + kHeight + 64;
};

std::vector<std::size_t> colours_of(const std::vector<RooflineCase>& cases) {
  std::map<std::pair<std::string, std::string>, std::size_t> known;
  std::vector<std::size_t> colours;
  for (const RooflineCase& one : cases) {
    const std::pair kind(one.experiment, one.backend);
    colours.push_back(known.try_emplace(kind, known.size()).first->second % kColours.size());
  }
  return colours;
}

std::string title_text(const std::string& title) {
  constexpr double kTextMargin = kTotalWidth - 2 * kMargin;
  std::string attributes = kInk;
  if (svg_text_width(title, kTitleFont) > kTextMargin)
    attributes += fmt::format(" textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\"", kTextMargin);
  return text_at(kMargin, 22, kTitleFont, attributes, title);
}

}  // namespace

std::string xml_text(std::string_view text) {
  return markup_text(text, " ");
}

double svg_text_width(std::string_view text, double font_size) {
  double width = 0;
  for (const char c : text) {
    if (!continues_character(c)) width += width_of(c);
  }
  return width * font_size;
}

std::vector<std::string> svg_lines(std::string_view text, double max_width, double font_size) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    std::size_t end = fitting_length(text, max_width, font_size);
    if (end < text.size()) {
      const std::size_t space = text.rfind(' ', end);
      if (space != std::string_view::npos && space > 0) end = space;
    }
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
    if (text.starts_with(' ')) text.remove_prefix(1);
  }
  return lines;
}

SvgBox svg_text_box(double x, double y, std::string_view text, double font_size) {
  return {x, y - kAscent * font_size, x + svg_text_width(text, font_size), y + kDescent * font_size};
}

std::string roofline_svg(const Roofline& roofline, const std::string& title) {
  Drawing drawing(roofline);
  Legend legend;
  const std::vector<RooflineCase>& cases = roofline.cases;
  const std::vector<std::size_t> colours = colours_of(cases);
  std::string plot = drawing.axes() + drawing.roofs();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    plot += drawing.interval(cases[i], colours[i]) + drawing.point(cases[i], colours[i]);
    legend.add(legend_line(cases[i], i + 1), fill_of(colours[i]));
  }
  for (std::size_t i = 0; i < cases.size(); ++i) plot += drawing.number(cases[i], i, colours[i]);
  for (std::size_t i = 0; i < roofline.roofs.size(); ++i) {
    const Roof& roof = roofline.roofs[i];
    legend.add(
        fmt::format("{} {}: {} {}", roof_tag(i), name_of(roof), format_number(roof.rate), unit_of(roof)),
        kInk);
  }
  legend.add(work_text(roofline), kInk);
  const double height = legend.bottom();
  return fmt::format(
             "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
             "viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" font-family=\"sans-serif\">\n",
             kTotalWidth, height) +
         style() + "<rect class=\"ground\" width=\"100%\" height=\"100%\" fill=\"white\"/>\n" +
         title_text(title) + plot + legend.svg() + "</svg>\n";
}

}  // namespace headroom
