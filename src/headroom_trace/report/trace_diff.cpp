// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/report/trace_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/units.h"
#include "headroom_trace/columns/attribution.h"
#include "headroom_trace/columns/kernel_names.h"
#include "headroom_trace/columns/spans.h"
#include "headroom_trace/columns/trace_facts.h"
#include "headroom_trace/findings/advice.h"
#include "headroom_trace/index/steps.h"
#include "headroom_trace/index/trace_index.h"
#include "headroom_trace/index/trace_trust.h"

namespace headroom::trace {
namespace {

constexpr std::string_view kInside = " > ";

Span span_of(const Trace& trace, const ProfileOptions& options) {
  if (!options.step)
    return {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
  const StepSet set = step_set(trace);
  if (set.steps.empty())
    throw Error(fmt::format("{}: no steps: {}", trace.source, advice(Advice::kMarkSteps, trace.writer)));
  std::string known;
  for (const Step& step : set.steps) {
    if (step.number == *options.step) return {step.start_ns, step.end_ns};
    known += fmt::format("{}{}", known.empty() ? "" : ", ", step.number);
  }
  throw Error(fmt::format("{}: no {}{}; its steps are {}", trace.source,
                          is_step_name(set.name) ? set.name : "step ", *options.step, known));
}

bool is_in(const Span& span, std::int64_t at) {
  return at >= span.start && at < span.end;
}

/// By name id first, which is fast.
class SumsByName {
 public:
  explicit SumsByName(std::size_t names) : sums_(names) {}
  void add(NameId name, std::int64_t duration_ns) { sums_[name] += {1, duration_ns}; }
  template <typename TextOf>
  WorkByName by_text(TextOf text_of) const {
    WorkByName all;
    for (NameId name = 0; name < sums_.size(); ++name) {
      if (sums_[name].count == 0) continue;
      all[text_of(name)] += sums_[name];
    }
    return all;
  }

 private:
  std::vector<WorkSum> sums_;
};

std::string plain_name(std::string_view name) {
  return std::string(is_step_name(name) ? name.substr(0, name.find('#')) : name);
}

class Places {
 public:
  Places(const Trace& trace, CategoryMask around)
      : trace_(trace), parent_(parents(trace, around)), known_(trace.events.size(), kUnknown) {}

  static constexpr std::uint32_t kRoot = 0;

  /// kRoot for kNone.
  std::uint32_t inside(std::uint32_t event) {
    std::vector<std::uint32_t> chain;
    while (event != kNone && known_[event] == kUnknown) {
      chain.push_back(event);
      event = parent_[event];
    }
    std::uint32_t place = event == kNone ? kRoot : known_[event];
    for (; !chain.empty(); chain.pop_back()) {
      place = child(place, plain(trace_.events.name[chain.back()]));
      known_[chain.back()] = place;
    }
    return place;
  }
  std::uint32_t parent_event(std::uint32_t event) const { return parent_[event]; }
  std::uint32_t child(std::uint32_t place, NameId name) {
    const auto [found, is_new] =
        children_.try_emplace(std::uint64_t{place} << 32U | name, static_cast<std::uint32_t>(nodes_.size()));
    if (is_new) nodes_.push_back({place, name});
    return found->second;
  }
  std::size_t size() const { return nodes_.size(); }

  template <typename TextOf>
  std::string text(std::uint32_t place, TextOf text_of_last) const {
    std::vector<std::string> names;
    names.push_back(text_of_last(nodes_[place].name));
    for (place = nodes_[place].parent; place != kRoot; place = nodes_[place].parent)
      names.push_back(plain_name(trace_.names[nodes_[place].name]));
    std::string all;
    for (auto name = names.rbegin(); name != names.rend(); ++name) {
      if (!all.empty()) all += kInside;
      all += *name;
    }
    return all;
  }

 private:
  static constexpr std::uint32_t kUnknown = 0xffffffffU;
  struct Node {
    std::uint32_t parent;
    NameId name;
  };

  NameId plain(NameId name) {
    if (!is_step_name(trace_.names[name])) return name;
    if (step_ == kNoName) step_ = name;
    return step_;
  }

  const Trace& trace_;
  std::vector<std::uint32_t> parent_;
  std::vector<std::uint32_t> known_;
  std::vector<Node> nodes_{{kRoot, kNoName}};
  std::unordered_map<std::uint64_t, std::uint32_t> children_;
  NameId step_ = kNoName;
};

void sum_cpu(const Trace& trace, const Span& span, TraceProfile& profile) {
  const Events& events = trace.events;
  SumsByName ops(trace.names.size()), annotations(trace.names.size()), calls(trace.names.size());
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (!is_in(span, events.start_ns[i])) continue;
    const Category category = events.category[i];
    SumsByName* const sums = category == Category::kCpuOp                                      ? &ops
                             : category == Category::kUserAnnotation                           ? &annotations
                             : category == Category::kRuntime || category == Category::kDriver ? &calls
                                                                                               : nullptr;
    if (sums != nullptr) sums->add(events.name[i], events.duration_ns[i]);
  }
  const auto text_of = [&](NameId name) { return plain_name(trace.names[name]); };
  profile.ops = ops.by_text(text_of);
  profile.annotations = annotations.by_text(text_of);
  profile.calls = calls.by_text(text_of);
}

void sum_gpu(const Trace& trace, const Span& span, const ProfileOptions& options, TraceProfile& profile) {
  const Events& events = trace.events;
  const std::vector<std::uint32_t> launch = launches(trace);
  Places places(trace, mask_of(Category::kCpuOp) | mask_of(Category::kUserAnnotation));
  SumsByName kernels(trace.names.size());
  std::vector<WorkSum> at_place;
  for (std::size_t row = 0; row < trace.gpu.size(); ++row) {
    const std::uint32_t event = trace.gpu[row].event;
    if (options.step && launch[row] == kNone) ++profile.without_step;
    if (options.step && (launch[row] == kNone || !is_in(span, events.start_ns[launch[row]]))) continue;
    kernels.add(events.name[event], events.duration_ns[event]);
    const std::uint32_t around = launch[row] == kNone ? kNone : places.parent_event(launch[row]);
    const std::uint32_t place = places.child(places.inside(around), events.name[event]);
    if (at_place.size() < places.size()) at_place.resize(places.size());
    at_place[place] += {1, events.duration_ns[event]};
  }
  const auto text_of = [&](NameId name) {
    return options.full_names ? std::string(trace.names[name]) : short_name(trace.names[name]);
  };
  profile.kernels = kernels.by_text(text_of);
  for (std::uint32_t place = 0; place < at_place.size(); ++place) {
    if (at_place[place].count == 0) continue;
    profile.places[places.text(place, text_of)] += at_place[place];
  }
}

constexpr std::size_t kChanges = 5;

struct Scale {
  double before = 1, after = 1;
  bool is_one = true;

  Cell of(std::int64_t value, double steps) const {
    return is_one ? Cell{value} : Cell{static_cast<double>(value) / steps};
  }
  double delta_ns(const DiffLine& line) const {
    return static_cast<double>(line.after.total_ns) / after -
           static_cast<double>(line.before.total_ns) / before;
  }
  Cell delta_cell(const DiffLine& line) const {
    return is_one ? Cell{line.after.total_ns - line.before.total_ns} : Cell{delta_ns(line)};
  }
  void append(std::vector<Cell>& row, const DiffLine& line) const {
    row.insert(row.end(), {of(line.before.count, before), of(line.after.count, after),
                           of(line.before.total_ns, before), of(line.after.total_ns, after), delta_cell(line),
                           call_cell(line.before), call_cell(line.after)});
  }
  static Cell call_cell(const WorkSum& work) {
    return quotient_cell(static_cast<double>(work.total_ns), static_cast<double>(work.count));
  }
  Change change_of(const DiffLine& line) const {
    if (line.before.count == 0) return Change::kAdded;
    if (line.after.count == 0) return Change::kDeleted;
    constexpr double kShare = 0.01, kLeastNs = 1e3, kMaxNs = 1e6;
    const double by = delta_ns(line);
    const double noise = kShare * static_cast<double>(line.before.total_ns) / before;
    if (std::abs(by) <= std::clamp(noise, kLeastNs, kMaxNs)) return Change::kUnchanged;
    return by > 0 ? Change::kIncreased : Change::kDecreased;
  }
};

void add_sum_columns(DataTable& table) {
  add_columns(
      table,
      {Column::count("count_before", "count A"), Column::count("count_after", "count B"),
       Column::time("time_before_ns", "time A").main(), Column::time("time_after_ns", "time B").main(),
       Column::time("difference_ns", "B - A").main(), Column::time("call_before_ns", "per call A").detail(),
       Column::time("call_after_ns", "per call B").detail()});
}

DataTable changes_table(const std::vector<DiffLine>& lines, const Scale& scale) {
  std::array<DiffLine, kChanges> sums;
  std::array<std::size_t, kChanges> names{};
  DiffLine all;
  const auto add = [](DiffLine& sum, const DiffLine& line) {
    sum.before += line.before;
    sum.after += line.after;
  };
  for (const DiffLine& line : lines) {
    ++names[static_cast<std::size_t>(line.change)];
    add(sums[static_cast<std::size_t>(line.change)], line);
    add(all, line);
  }
  DataTable table{
      "changes", "GPU work by change", {Column::text("change", "kernels"), Column::count("names")}};
  add_sum_columns(table);
  const auto add_row = [&](const char* name, std::size_t count, const DiffLine& sum) {
    std::vector<Cell>& row = table.rows.emplace_back(std::vector<Cell>{name, count_cell(count)});
    scale.append(row, sum);
  };
  for (std::size_t i = 0; i < kChanges; ++i) add_row(to_string(static_cast<Change>(i)), names[i], sums[i]);
  add_row("all", lines.size(), all);
  return table;
}

struct Labelled {
  const char* kind = nullptr;
  DiffLine line;
};

std::vector<Labelled> labelled(const char* kind, std::vector<DiffLine> lines) {
  std::vector<Labelled> all;
  for (DiffLine& line : lines) all.push_back({kind, std::move(line)});
  return all;
}

DataTable lines_table(DataTable table, std::vector<Labelled> lines, const Scale& scale, std::size_t top) {
  std::ranges::stable_sort(lines, std::greater{},
                           [&](const Labelled& entry) { return std::abs(scale.delta_ns(entry.line)); });
  const bool has_kinds = !lines.empty() && lines.front().kind != nullptr;
  table.columns.push_back(Column::text("name"));
  if (has_kinds) table.columns.push_back(Column::text("kind").detail());
  table.columns.push_back(Column::text("change").detail());
  add_sum_columns(table);
  for (const auto& [kind, line] : lines) {
    std::vector<Cell>& row = table.rows.emplace_back(std::vector<Cell>{line.name});
    if (has_kinds) row.emplace_back(kind);
    row.emplace_back(to_string(line.change));
    scale.append(row, line);
  }
  if (const std::size_t left_out = keep_top(table, top); left_out > 0)
    table.title += fmt::format(" ({} smaller changes left out)", left_out);
  return table;
}

std::vector<Labelled> cpu_lines(const TraceProfile& before, const TraceProfile& after, const Scale& scale) {
  std::vector<Labelled> all = labelled("op", joined(before.ops, after.ops, scale.before, scale.after));
  for (auto& more :
       {labelled("annotation", joined(before.annotations, after.annotations, scale.before, scale.after)),
        labelled("call", joined(before.calls, after.calls, scale.before, scale.after))})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

Scale scale_of(const TraceProfile& before, const TraceProfile& after, bool per_step) {
  if (!per_step) return {};
  if (before.steps == 0 || after.steps == 0)
    throw Error("--per-step: the traces have no steps; leave it out");
  return {static_cast<double>(before.steps), static_cast<double>(after.steps), false};
}

void add_notes(const TraceProfile& before, const TraceProfile& after, const std::vector<DiffLine>& kernels,
               const DiffOptions& options, AnalysisResult& result) {
  if (before.steps != after.steps && !options.per_step) {
    result.notes.push_back(fmt::format("A has {} profiler steps and B {}: {}", before.steps, after.steps,
                                       before.steps > 0 && after.steps > 0
                                           ? "--per-step divides by them"
                                           : "counts and times cover unequal work"));
  }
  if (before.traces != after.traces)
    result.notes.push_back(fmt::format("A has {} traces and B {}", before.traces, after.traces));
  for (const auto& [name, profile] : {std::pair{"A", &before}, std::pair{"B", &after}}) {
    if (profile->without_step > 0)
      result.notes.push_back(
          fmt::format("{} GPU events of {} are in no step: their launches are not recorded",
                      profile->without_step, name));
  }
  const bool any_common = std::ranges::any_of(
      kernels, [](const DiffLine& line) { return line.before.count > 0 && line.after.count > 0; });
  if (before.kernels.empty() || after.kernels.empty()) {
    result.notes.push_back(fmt::format("no GPU work in {}", before.kernels.empty() ? "A" : "B"));
  } else if (!any_common) {
    result.notes.emplace_back("no kernel of A is in B: are they from the same program?");
  }
}

/// Both times, then the kernels that changed most.
std::vector<std::string> answer_of(std::vector<DiffLine> kernels, const Scale& scale) {
  constexpr std::size_t kMost = 3;
  DiffLine all;
  for (const DiffLine& line : kernels) {
    all.before += line.before;
    all.after += line.after;
  }
  if (kernels.empty()) return {"no GPU work in either trace"};
  const double before = static_cast<double>(all.before.total_ns) / scale.before, by = scale.delta_ns(all);
  const std::string share = before > 0 ? fmt::format(" ({:+.3g} %)", by / before * 100) : "";
  const std::string lead = fmt::format("GPU time {} in A, {} in B{}{}", format_time_ns(before),
                                       format_time_ns(before + by), share, scale.is_one ? "" : " per step");
  std::erase_if(kernels, [&](const DiffLine& line) { return scale.delta_ns(line) == 0; });
  if (kernels.empty()) return {lead + ": no kernel differs"};
  std::ranges::stable_sort(kernels, std::greater{},
                           [&](const DiffLine& line) { return std::abs(scale.delta_ns(line)); });
  std::vector<std::string> answer{lead};
  for (const DiffLine& line : kernels) {
    const double delta = scale.delta_ns(line);
    if (answer.size() > kMost || (answer.size() > 1 && line.change == Change::kUnchanged)) break;
    answer.push_back(fmt::format("{}. {}{} in {} ({} to {})", answer.size(), delta > 0 ? "+" : "-",
                                 format_time_ns(std::abs(delta)), line.name,
                                 format_time_ns(static_cast<double>(line.before.total_ns) / scale.before),
                                 format_time_ns(static_cast<double>(line.after.total_ns) / scale.after)));
  }
  return answer;
}

TraceProfile sums_of(const Trace& trace, const ProfileOptions& options) {
  const Span span = span_of(trace, options);
  TraceProfile profile;
  sum_cpu(trace, span, profile);
  sum_gpu(trace, span, options, profile);
  profile.steps = options.step ? 1 : static_cast<std::int64_t>(step_set(trace).steps.size());
  profile.traces = 1;
  return profile;
}

}  // namespace

TraceProfile profile_of(const Trace& trace, const ProfileOptions& options) {
  const ImpossibleEvents impossible = impossible_events(TraceIndex(trace));
  if (impossible.rows.empty()) return sums_of(trace, options);
  TraceProfile profile = sums_of(without(trace, impossible), options);
  for (const Doubt& doubt : impossible.doubts) profile.doubts.push_back(doubt_text(doubt));
  return profile;
}

void add(TraceProfile& sum, const TraceProfile& other) {
  for (WorkByName TraceProfile::*const part :
       {&TraceProfile::kernels, &TraceProfile::ops, &TraceProfile::annotations, &TraceProfile::calls,
        &TraceProfile::places}) {
    for (const auto& [name, work] : other.*part) (sum.*part)[name] += work;
  }
  sum.doubts.insert(sum.doubts.end(), other.doubts.begin(), other.doubts.end());
  sum.without_step += other.without_step;
  sum.steps += other.steps;
  sum.traces += other.traces;
}

const char* to_string(Change change) {
  constexpr std::array<const char*, kChanges> kNames{"added", "deleted", "increased", "decreased",
                                                     "unchanged"};
  return kNames[static_cast<std::size_t>(change)];
}

std::vector<DiffLine> joined(const WorkByName& before, const WorkByName& after, double before_steps,
                             double after_steps) {
  const Scale scale{before_steps, after_steps};
  std::vector<DiffLine> lines;
  auto a = before.begin();
  auto b = after.begin();
  while (a != before.end() || b != after.end()) {
    const bool take_a = a != before.end() && (b == after.end() || a->first <= b->first);
    const bool take_b = b != after.end() && (a == before.end() || b->first <= a->first);
    DiffLine& line = lines.emplace_back();
    line.name = take_a ? a->first : b->first;
    if (take_a) line.before = (a++)->second;
    if (take_b) line.after = (b++)->second;
    line.change = scale.change_of(line);
  }
  return lines;
}

AnalysisResult diff(const TraceProfile& before, const TraceProfile& after, const DiffOptions& options) {
  const Scale scale = scale_of(before, after, options.per_step);
  const std::vector<DiffLine> kernels = joined(before.kernels, after.kernels, scale.before, scale.after);
  AnalysisResult result;
  for (const std::string& doubt : before.doubts) result.doubts.push_back("A: " + doubt);
  for (const std::string& doubt : after.doubts) result.doubts.push_back("B: " + doubt);
  result.answer = answer_of(kernels, scale);
  result.tables.push_back(changes_table(kernels, scale));
  const auto add = [&](const char* key, const char* title, std::vector<Labelled> lines) {
    result.tables.push_back(lines_table({key, title, {}, {}}, std::move(lines), scale, options.top));
  };
  add("kernels", "kernels by change in time", labelled(nullptr, kernels));
  add("ops", "ops, annotations and runtime calls, including their children", cpu_lines(before, after, scale));
  add("places", "kernels by the ops above their launch",
      labelled(nullptr, joined(before.places, after.places, scale.before, scale.after)));
  add_notes(before, after, kernels, options, result);
  return result;
}

}  // namespace headroom::trace
