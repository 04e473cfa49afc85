// SPDX-License-Identifier: Apache-2.0
#include "headroom/compare/environment_differences.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "headroom/base/text.h"
#include "headroom/record/environment.h"
#include "headroom/record/noise.h"

namespace headroom {
namespace {

using Values = std::set<std::string>;

class Facts {
 public:
  void add(const std::string& what, const std::string& value) {
    if (value.empty()) return;
    if (const auto [place, is_new] = values_.try_emplace(what); is_new) order_.push_back(what);
    values_[what].insert(value);
  }
  const std::vector<std::string>& order() const { return order_; }
  const Values& of(const std::string& what) const {
    static const Values kNothing;
    const auto found = values_.find(what);
    return found == values_.end() ? kNothing : found->second;
  }

 private:
  std::map<std::string, Values> values_;
  std::vector<std::string> order_;
};

bool is_run_specific(const std::string& key) {
  constexpr std::array kRunKeys{"seed", "timestamp", "date", "hostname", "host_name", "pid"};
  return std::ranges::find(kRunKeys, key) != kRunKeys.end();
}

void add_environment(Facts& facts, const Environment& environment) {
  facts.add("machine", environment.fingerprint);
  for (const Environment::Runner& machine : environment.machines) {
    facts.add("processor", machine.cpu_info);
    facts.add("CPUs", machine.cpu_count == 0 ? "" : std::to_string(machine.cpu_count));
    facts.add("GPU", machine.gpu_info);
    facts.add("memory", machine.mem_info);
    for (const auto& [key, value] : machine.extra_info) {
      if (!is_run_specific(key)) facts.add(key, value);
    }
  }
  facts.add("governor", environment.governor);
  facts.add("headroom version", environment.headroom_version);
  add_sources(facts, environment);
  for (const auto& [key, value] : environment.extra_info) {
    if (!is_run_specific(key)) facts.add(key, value);
  }
}

Facts facts_of(std::span<const Record> records) {
  Facts facts;
  std::set<const Environment*> seen;
  for (const Record& record : records) {
    if (record.environment && seen.insert(record.environment.get()).second)
      add_environment(facts, *record.environment);
  }
  // Only cases with other pages have it; the requested pages are in the environment.
  for (const Record& record : records) {
    const auto pages = record.model.extra_info.find(kHugePagesKey);
    if (pages != record.model.extra_info.end()) facts.add("share in huge pages", pages->second);
  }
  const AxisValues* last = nullptr;
  for (const Record& record : records) {
    // Skip repeated values: consecutive cases differ in few axes.
    for (std::size_t i = 0; i < record.axes.size(); ++i) {
      const auto& [axis, value] = record.axes[i];
      const bool is_told = last != nullptr && i < last->size() && (*last)[i] == record.axes[i];
      if (!is_told) facts.add("axis " + axis, value.text());
    }
    last = &record.axes;
  }
  return facts;
}

std::string text_of(const Values& values) {
  constexpr std::size_t kMax = 8;
  if (values.empty()) return "-";
  std::vector<std::string> shown(
      values.begin(), std::next(values.begin(), static_cast<std::ptrdiff_t>(std::min(kMax, values.size()))));
  if (values.size() > kMax) shown.push_back("...");
  return join(shown, ", ");
}

bool disjoint(const Values& a, const Values& b) {
  return std::ranges::none_of(a, [&](const std::string& value) { return b.contains(value); });
}

}  // namespace

EnvironmentDifferences environment_differences(std::span<const Record> baseline,
                                               std::span<const Record> test) {
  const Facts before = facts_of(baseline);
  const Facts after = facts_of(test);
  EnvironmentDifferences result;
  const Values& machine = before.of("machine");
  result.different_machines =
      !machine.empty() && !after.of("machine").empty() && disjoint(machine, after.of("machine"));
  std::vector<std::string> order = before.order();
  for (const std::string& what : after.order()) {
    if (before.of(what).empty()) order.push_back(what);
  }
  for (const std::string& what : order) {
    if (before.of(what) == after.of(what)) continue;
    result.list.push_back({what, text_of(before.of(what)), text_of(after.of(what))});
  }
  return result;
}

}  // namespace headroom
