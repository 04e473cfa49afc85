// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/report/trace_profile.h"

#include <fmt/format.h>

#include <limits>
#include <unordered_map>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/trace/columns/attribution.h"
#include "headroom/trace/columns/short_name.h"
#include "headroom/trace/columns/spans.h"
#include "headroom/trace/columns/steps.h"

namespace headroom::trace {
namespace {

constexpr std::string_view kInside = " > ";

Span span_of(const Trace& trace, const ProfileOptions& options) {
  if (!options.step)
    return {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
  std::string known;
  for (const Step& step : steps(trace)) {
    if (step.number == *options.step) return {step.start_ns, step.end_ns};
    known += fmt::format("{}{}", known.empty() ? "" : ", ", step.number);
  }
  throw Error(fmt::format("{}: has no ProfilerStep#{}; its steps are {}", trace.source, *options.step,
                          known.empty() ? "none" : known));
}

bool is_in(const Span& span, std::int64_t at) {
  return at >= span.start && at < span.end;
}

/// Sums by the number of the name, which is quick, and then once by its text.
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

/// Each step is the same place as the others.
std::string plain_name(std::string_view name) {
  return std::string(name.starts_with(kStepName) ? kStepName.substr(0, kStepName.size() - 1) : name);
}

/// The chains of names above events, each chain once.
class Places {
 public:
  Places(const Trace& trace, CategoryMask around)
      : trace_(trace), parent_(parents(trace, around)), known_(trace.events.size(), kUnknown) {}

  static constexpr std::uint32_t kRoot = 0;

  /// The place of what is inside `event`; kRoot for kNone.
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

  /// All steps are one name: that of the first.
  NameId plain(NameId name) {
    if (!trace_.names[name].starts_with(kStepName)) return name;
    if (step_ == kNoName) step_ = name;
    return step_;
  }

  const Trace& trace_;
  std::vector<std::uint32_t> parent_;
  std::vector<std::uint32_t> known_;  ///< of each event: the place inside it
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
    return options.whole_names ? std::string(trace.names[name]) : short_name(trace.names[name]);
  };
  profile.kernels = kernels.by_text(text_of);
  for (std::uint32_t place = 0; place < at_place.size(); ++place) {
    if (at_place[place].count == 0) continue;
    profile.places[places.text(place, text_of)] += at_place[place];
  }
}

}  // namespace

TraceProfile profile_of(const Trace& trace, const ProfileOptions& options) {
  const Span span = span_of(trace, options);
  TraceProfile profile;
  sum_cpu(trace, span, profile);
  sum_gpu(trace, span, options, profile);
  profile.steps = options.step ? 1 : static_cast<std::int64_t>(steps(trace).size());
  profile.traces = 1;
  return profile;
}

void add(TraceProfile& sum, const TraceProfile& other) {
  for (WorkByName TraceProfile::*const part :
       {&TraceProfile::kernels, &TraceProfile::ops, &TraceProfile::annotations, &TraceProfile::calls,
        &TraceProfile::places}) {
    for (const auto& [name, work] : other.*part) (sum.*part)[name] += work;
  }
  sum.without_step += other.without_step;
  sum.steps += other.steps;
  sum.traces += other.traces;
}

}  // namespace headroom::trace
