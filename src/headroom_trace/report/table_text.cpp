// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/report/table_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/tables/width.h"

namespace headroom {
namespace {

using trace::Cell;
using trace::Kind;

constexpr const char* kCut = "…";

bool is_inside_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

bool is_identifier(char c) {
  return c == '_' || is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Length without the qualifier ("at" in "at::", "(anonymous namespace)") that ends `text`.
std::size_t without_qualifier(std::string_view text) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  if (text.ends_with(kAnonymous)) return text.size() - kAnonymous.size();
  std::size_t size = text.size();
  while (size > 0 && is_identifier(text[size - 1])) --size;
  return size;
}

/// "f" for "void f(int)".
std::string_view without_parameters(std::string_view name) {
  if (!name.ends_with(')')) return name;
  std::size_t depth = 0, at = name.size();
  do {
    --at;
    if (name[at] == ')') ++depth;
    if (name[at] == '(') --depth;
  } while (at > 0 && depth > 0);
  const std::string_view function = name.substr(0, at);
  const bool is_list = depth == 0 && !function.empty() && !function.ends_with(' ');
  return is_list && !function.ends_with("operator") ? function : name;
}

/// "add<AddFunctor<float>>" for "void at::native::add<at::native::AddFunctor<float>>(int, float*)".
std::string without_namespaces(std::string_view name) {
  constexpr std::string_view kVoid = "void ", kColons = "::";
  if (!name.starts_with(kVoid) && !contains(name, kColons)) return std::string(name);
  if (name.starts_with(kVoid)) name.remove_prefix(kVoid.size());
  name = without_parameters(name);
  std::string bare;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const std::size_t kept = name.substr(i).starts_with(kColons) ? without_qualifier(bare) : bare.size();
    if (kept < bare.size()) {
      bare.resize(kept);
      ++i;
    } else {
      bare += name[i];
    }
  }
  return bare;
}

/// "linear.py(124): forward" for "torch/nn/modules/linear.py(124): forward".
std::string_view without_folders(std::string_view name) {
  const std::size_t file = name.find(".py(");
  if (file == std::string_view::npos) return name;
  const std::size_t folder = name.substr(0, file).rfind('/');
  return folder == std::string_view::npos ? name : name.substr(folder + 1);
}

/// "… > Layer_0 > Attention_0" for a longer chain.
std::string end_of_chain(std::string name, std::size_t most) {
  constexpr std::string_view kInside = " > ";
  std::size_t at = name.find(kInside);
  if (display_width(name) <= most || at == std::string::npos) return name;
  while (display_width(std::string_view(name).substr(at)) + 1 > most) {
    const std::size_t next = name.find(kInside, at + 1);
    if (next == std::string::npos) break;
    at = next;
  }
  return kCut + name.substr(at);
}

std::string bare_name(const std::string& name, std::size_t most) {
  std::string bare = without_namespaces(without_folders(name));
  return bare.empty() ? name : end_of_chain(std::move(bare), most);
}

/// The part of each name that is shown: the bare name of a long one, unless others share it.
std::map<std::string, std::string> shown_parts(const std::set<std::string>& names, std::size_t most) {
  std::map<std::string, std::string> parts;
  std::map<std::string, std::size_t> uses;
  for (const std::string& name : names) {
    std::string& part = parts[name] = display_width(name) <= most ? name : bare_name(name, most);
    ++uses[part];
  }
  for (auto& [name, part] : parts) {
    if (uses[part] > 1) part = name;
  }
  return parts;
}

std::string shortened_inside(const std::string& text, std::size_t most) {
  if (display_width(text) <= most) return text;
  const std::size_t head = most * 2 / 3, tail = most - head - 1;
  return fmt::format("{}{}{}", first_columns(text, head), kCut, last_columns(text, tail));
}

/// In whole characters.
std::size_t shared_beginning(const std::vector<const std::string*>& names) {
  const std::string& first = *names.front();
  std::size_t shared = first.size();
  for (const std::string* name : names) {
    const auto differing = std::mismatch(first.begin(), first.end(), name->begin(), name->end()).first;
    shared = std::min(shared, static_cast<std::size_t>(differing - first.begin()));
  }
  while (shared > 0 && shared < first.size() && is_inside_character(first[shared])) --shared;
  return shared;
}

/// Keeps the beginning, the text around byte `shared`, and the end.
std::string shortened_around(const std::string& name, std::size_t shared, std::size_t most) {
  constexpr std::size_t kBefore = 4;
  const std::size_t head = most / 3, around = most / 3, tail = most - head - around - 2;
  const std::string_view before = last_columns(std::string_view(name).substr(0, shared), kBefore);
  const std::size_t from = shared - before.size();
  const std::string_view differing = first_columns(std::string_view(name).substr(from), around);
  const std::size_t rest = from + differing.size();
  const std::string_view end = last_columns(std::string_view(name).substr(rest), tail);
  return fmt::format("{}{}{}{}{}", first_columns(std::string_view(name).substr(0, from), head), kCut,
                     differing, rest + end.size() < name.size() ? kCut : "", end);
}

using ByText = std::map<std::string, std::vector<const std::string*>>;

/// Shortens equal texts again, around their first difference.
void settle(const ByText& by_text, std::size_t most, std::size_t looked_at,
            std::map<std::string, std::string>& chosen) {
  for (const auto& [text, names] : by_text) {
    if (names.size() == 1) {
      chosen[*names.front()] = text;
      continue;
    }
    const std::size_t shared = shared_beginning(names);
    ByText closer;
    for (const std::string* name : names) closer[shortened_around(*name, shared, most)].push_back(name);
    // Each recursion compares a later place; the first may not separate any names.
    if (closer.size() > 1 || shared > looked_at) {
      settle(closer, most, shared, chosen);
      continue;
    }
    std::size_t number = 0;
    for (const std::string* name : names) chosen[*name] = fmt::format("{} #{}", text, ++number);
  }
}

void number_repeats(const std::vector<std::string>& names, std::map<std::string, std::string>& chosen) {
  std::set<std::string> taken, done;
  for (const std::string& name : names) {
    if (!done.insert(name).second) continue;
    std::string& text = chosen[name];
    const std::string plain = text;
    for (std::size_t number = 2; !taken.insert(text).second; ++number)
      text = fmt::format("{} #{}", plain, number);
  }
}

constexpr const char* kNothing = "-";
/// Kernel names have up to thousands of characters.
constexpr std::size_t kNameWidth = 72, kShortestName = 24;

std::string instant_text(std::int64_t ns) {
  const auto whole = std::lldiv(ns, 1'000'000'000);
  return fmt::format("{}{}.{:09} s", ns < 0 ? "-" : "", std::llabs(whole.quot), std::llabs(whole.rem));
}

std::string rate_text(double giga, const char* unit) {
  constexpr double kThousand = 1000;
  if (std::abs(giga) < kThousand) return fmt::format("{} G{}", format_number(giga), unit);
  return fmt::format("{} T{}", format_number(giga / kThousand), unit);
}

std::string number_text(double value, Kind kind) {
  if (!std::isfinite(value)) return kNothing;
  switch (kind) {
    case Kind::kTimeNs:
      return format_time_ns(value);
    case Kind::kBytes:
      return format_bytes(value);
    case Kind::kShare:
      return format_percent(value);
    case Kind::kGigabytesPerSecond:
      return rate_text(value, "B/s");
    case Kind::kGigaflopsPerSecond:
      return rate_text(value, "FLOP/s");
    case Kind::kCount:
      return value == std::round(value) ? fmt::format("{:.0f}", value) : format_number(value);
    default:
      return format_number(value);
  }
}

std::size_t least_key_width(std::size_t width) {
  return std::clamp(width * 2 / 5, kShortestName, kNameWidth);
}

std::size_t name_width(const TraceTextOptions& options) {
  const bool narrow = options.width > 0 && !options.markdown;
  return narrow ? std::clamp(options.width / 2, kShortestName, kNameWidth) : kNameWidth;
}

bool is_whole(Kind kind) {
  return kind == Kind::kCount || kind == Kind::kNumber || kind == Kind::kText;
}

using Texts = std::vector<std::string>;

/// By column, in full.
std::vector<Texts> texts_of(const trace::DataTable& data, TraceTextOptions options) {
  options.full_names = true;
  std::vector<Texts> texts(data.columns.size());
  for (const std::vector<Cell>& row : data.rows) {
    for (std::size_t i = 0; i < row.size(); ++i)
      texts.at(i).push_back(trace_cell_text(row[i], data.columns[i].kind, options));
  }
  return texts;
}

std::size_t widest(const Texts& texts) {
  std::size_t most = 0;
  for (const std::string& text : texts) most = std::max(most, display_width(text));
  return most;
}

/// Table hides the column.
bool is_blank(const Texts& texts) {
  return std::ranges::all_of(texts, [](const std::string& text) { return text.empty() || text == kNothing; });
}

/// Indices: the key, then by importance.
std::vector<std::size_t> by_importance(const std::vector<trace::Column>& columns) {
  std::vector<std::size_t> order(columns.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (!order.empty())
    std::ranges::stable_sort(order.begin() + 1, order.end(), {},
                             [&](std::size_t i) { return columns[i].importance; });
  return order;
}

/// Column widths within options.width; 0: left out.
std::vector<std::size_t> fitted_widths(const trace::DataTable& data, const std::vector<Texts>& texts,
                                       const TraceTextOptions& options) {
  constexpr std::size_t kGap = 2;
  const std::size_t limit = name_width(options);
  std::vector<std::size_t> widths(data.columns.size()), wanted(data.columns.size());
  const std::vector<std::size_t> order = by_importance(data.columns);
  std::size_t taken = 0;
  trace::Importance last = trace::Importance::kDetail;
  for (const std::size_t i : order) {
    const trace::Column& column = data.columns[i];
    const std::size_t title = display_width(column.title), whole = std::max(title, widest(texts[i]));
    const bool is_key = i == 0 || column.importance == trace::Importance::kKey;
    const auto at_most = [&](std::size_t most) {
      return column.kind == Kind::kText ? std::max(title, std::min(whole, most)) : whole;
    };
    const std::size_t least = at_most(is_key ? least_key_width(options.width) : kShortestName);
    wanted[i] = at_most(limit);
    if (i > 0 && is_blank(texts[i])) {
      widths[i] = wanted[i];
    } else if (is_key || (column.importance <= last && taken + kGap + least <= options.width)) {
      widths[i] = least;
      taken += least + (i == 0 ? 0 : kGap);
    } else {
      last = std::min(last, column.importance);
    }
  }
  for (const std::size_t i : order) {
    if (widths[i] == 0 || taken >= options.width) continue;
    const std::size_t more = std::min(wanted[i] - widths[i], options.width - taken);
    widths[i] += more;
    taken += more;
  }
  return widths;
}

/// A number that tells names apart may exceed `most` once.
Texts shortened_within(const Texts& names, std::size_t most) {
  constexpr int kTries = 3;
  Texts texts = shortened_names(names, most);
  std::size_t limit = most;
  for (int i = 0; i < kTries && widest(texts) > most && limit > kShortestName / 2; ++i) {
    limit -= widest(texts) - most;
    texts = shortened_names(names, limit);
  }
  return texts;
}

}  // namespace

std::vector<std::string> shortened_names(const std::vector<std::string>& names, std::size_t most) {
  const std::map<std::string, std::string> parts = shown_parts({names.begin(), names.end()}, most);
  ByText by_text;
  for (const auto& [name, part] : parts) by_text[shortened_inside(part, most)].push_back(&part);
  std::map<std::string, std::string> by_part, chosen;
  settle(by_text, most, 0, by_part);
  for (const auto& [name, part] : parts) chosen[name] = by_part[part];
  number_repeats(names, chosen);
  std::vector<std::string> texts;
  texts.reserve(names.size());
  for (const std::string& name : names) texts.push_back(chosen[name]);
  return texts;
}

std::string with_short_words(const std::string& sentence, const TraceTextOptions& options) {
  constexpr std::size_t kIndent = 4;
  const std::size_t width = std::min(options.width, View::kProseWidth);
  if (width <= kIndent || options.markdown || options.full_names) return sentence;
  std::vector<std::string> words = split(sentence, ' ');
  for (std::string& word : words) word = shortened_inside(word, width - kIndent);
  return join(words, " ");
}

std::string trace_cell_text(const Cell& cell, Kind kind, const TraceTextOptions& options) {
  if (const auto* text = std::get_if<std::string>(&cell)) {
    return options.full_names ? *text : shortened_names({*text}, name_width(options)).front();
  }
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) {
    if (kind == Kind::kInstantNs) return instant_text(*whole - options.origin_ns);
    return is_whole(kind) ? std::to_string(*whole) : number_text(static_cast<double>(*whole), kind);
  }
  if (const auto* number = std::get_if<double>(&cell)) {
    if (kind != Kind::kInstantNs) return number_text(*number, kind);
    return instant_text(std::llround(*number) - options.origin_ns);
  }
  return kNothing;
}

Table trace_table(const trace::DataTable& data, const TraceTextOptions& options) {
  std::vector<Texts> texts = texts_of(data, options);
  const bool is_limited = options.width > 0 && !options.markdown;
  const std::vector<std::size_t> widths =
      is_limited ? fitted_widths(data, texts, options) : std::vector(data.columns.size(), kNameWidth);
  std::vector<Table::Column> columns;
  Texts left_out;
  for (std::size_t i = 0; i < data.columns.size(); ++i) {
    const trace::Column& column = data.columns[i];
    const bool is_text = column.kind == Kind::kText;
    if (widths[i] == 0) left_out.push_back(column.title);
    if (widths[i] > 0) columns.push_back({column.title, is_text ? Align::kLeft : Align::kRight});
    if (widths[i] > 0 && is_text && !options.full_names) texts[i] = shortened_within(texts[i], widths[i]);
  }
  Table table(std::move(columns));
  for (std::size_t row = 0; row < data.rows.size(); ++row) {
    Texts cells;
    for (std::size_t i = 0; i < data.rows[row].size(); ++i) {
      if (widths[i] > 0) cells.push_back(std::move(texts[i][row]));
    }
    table.row(std::move(cells));
  }
  if (!left_out.empty() && !data.rows.empty())
    table.line(fmt::format("left out: {} (pipe into less -S for all)", join(left_out, ", ")))
        .tone(0, Tone::kFaint);
  return table;
}

}  // namespace headroom
