// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <string_view>

#include "headroom/base/error.h"
#include "headroom/base/regular_expression.h"
#include "headroom/base/text.h"

namespace headroom {
namespace {

struct Offered {
  std::size_t runner;
  const ExperimentDescription* experiment;
};

std::vector<std::string> all_names(const std::vector<RunnerOffer>& offers) {
  std::vector<std::string> names;
  for (const RunnerOffer& offer : offers) {
    for (const ExperimentDescription& experiment : offer.experiments) {
      if (std::ranges::find(names, experiment.name) == names.end()) names.push_back(experiment.name);
    }
  }
  return names;
}

/// Without limits and experiments on request.
bool is_default(const std::string& name, const std::vector<RunnerOffer>& offers) {
  return std::ranges::any_of(offers, [&](const RunnerOffer& offer) {
    return !offer.only_limits && !offer.is_companion &&
           std::ranges::any_of(offer.experiments, [&](const auto& experiment) {
             return experiment.name == name && !experiment.is_limit && !experiment.is_on_request;
           });
  });
}

/// A pattern selects limits and experiments on request only if it matches no other. Throws Error.
std::vector<std::string> named(const std::string& pattern, const std::vector<std::string>& known,
                               const std::vector<RunnerOffer>& offers) {
  if (std::ranges::find(known, pattern) != known.end()) return {pattern};
  std::vector<std::string> found;
  std::ranges::copy_if(known, std::back_inserter(found),
                       [&](const std::string& name) { return fits_glob(pattern, name); });
  if (found.empty()) {
    throw Error("unknown experiment " + quote(pattern) + did_you_mean(pattern, known) +
                " (headroom run --list shows all)");
  }
  const auto rest = std::stable_partition(found.begin(), found.end(),
                                          [&](const std::string& name) { return is_default(name, offers); });
  if (rest != found.begin()) found.erase(rest, found.end());
  return found;
}

std::vector<std::string> selected_names(const std::vector<RunnerOffer>& offers, const Selection& selection) {
  const std::vector<std::string> known = all_names(offers);
  std::set<std::string> asked;
  for (const std::string& pattern : selection.names) {
    for (std::string& name : named(pattern, known, offers)) asked.insert(std::move(name));
  }
  std::vector<std::string> names;
  std::ranges::copy_if(known, std::back_inserter(names), [&](const std::string& name) {
    return selection.names.empty() ? is_default(name, offers) : asked.contains(name);
  });
  return names;
}

void filter_groups(std::vector<Group>& groups, const std::string& filter) {
  if (filter.empty()) return;
  with_context("--filter", [&] {
    const RegularExpression expression(filter);
    std::erase_if(groups, [&](const Group& group) { return !expression.is_in(group.title); });
  });
  if (groups.empty())
    throw Error("--filter " + quote(filter) +
                ": no case has a name that matches (headroom run --list shows them)");
}

std::vector<Offered> offered(const std::vector<RunnerOffer>& offers, const std::string& name) {
  std::vector<Offered> found;
  for (std::size_t runner = 0; runner < offers.size(); ++runner) {
    for (const ExperimentDescription& experiment : offers[runner].experiments) {
      if (experiment.name == name && (!offers[runner].only_limits || found.empty())) {
        found.push_back({runner, &experiment});
      }
    }
  }
  return found;
}

std::vector<std::string> selected_backends(const ExperimentDescription& experiment,
                                           const Selection& selection) {
  if (selection.backends.empty()) return {experiment.backends.front()};
  std::vector<std::string> found;
  for (const std::string& backend : experiment.backends) {
    const bool asked = std::ranges::any_of(
        selection.backends, [&](const std::string& name) { return name == "all" || name == backend; });
    if (asked) found.push_back(backend);
  }
  return found;
}

bool has_point(const ExperimentDescription& experiment, const AxisTexts& point) {
  return std::ranges::all_of(point, [&](const auto& entry) {
    const auto axis = std::ranges::find(experiment.axes, entry.first, &Axis::name);
    return axis == experiment.axes.end() || accepts(*axis, entry.second);
  });
}

Group group_at(const std::vector<Offered>& sources, const AxisTexts& point, const Selection& selection) {
  const std::string& name = sources.front().experiment->name;
  Group group{case_title(name, point), {}};
  for (const Offered& source : sources) {
    if (!has_point(*source.experiment, point)) continue;
    for (const std::string& backend : selected_backends(*source.experiment, selection))
      for (const int threads : thread_counts(*source.experiment, selection))
        group.cases.push_back(
            planned_case(source.runner, *source.experiment, point, backend, threads, selection));
  }
  return group;
}

void append_groups(const std::vector<Offered>& sources, const Selection& selection,
                   std::vector<Group>& groups) {
  for (auto source = sources.begin(); source != sources.end(); ++source) {
    const auto values = [&](const Axis& axis) { return select_values(axis, selection.axes); };
    for (const AxisTexts& point : axis_points(source->experiment->axes, values)) {
      const bool was_there = std::any_of(sources.begin(), source, [&](const Offered& earlier) {
        return has_point(*earlier.experiment, point);
      });
      if (was_there) continue;
      Group group = group_at(sources, point, selection);
      if (!group.cases.empty()) groups.push_back(std::move(group));
    }
  }
}

std::vector<Axis> axes_of(const std::vector<RunnerOffer>& offers, const std::vector<std::string>& names) {
  std::vector<Axis> axes;
  for (const std::string& name : names) {
    for (const Offered& source : offered(offers, name)) {
      axes.insert(axes.end(), source.experiment->axes.begin(), source.experiment->axes.end());
    }
  }
  return axes;
}

void require_axes(const std::vector<Axis>& axes, const std::vector<AxisRequest>& requests) {
  for (const AxisRequest& request : requests) {
    std::vector<Axis> named;
    std::ranges::copy_if(axes, std::back_inserter(named),
                         [&](const Axis& axis) { return axis.name == request.name; });
    if (named.empty()) {
      std::set<std::string> names;
      for (const Axis& axis : axes) names.insert(axis.name);
      const std::vector<std::string> known(names.begin(), names.end());
      throw Error("no selected experiment has an axis " + quote(request.name) +
                  did_you_mean(request.name, known) + " (axes: " + join(known, ", ") + ")");
    }
    for (const std::string& value : request.values) {
      if (std::ranges::any_of(named, [&](const Axis& axis) { return accepts(axis, value); })) continue;
      throw Error("axis " + request.name + " cannot be " + quote(value) + "; it takes " +
                  valid_values(named.front()));
    }
  }
}

void require_backends(const std::vector<RunnerOffer>& offers, const std::vector<std::string>& names,
                      const std::vector<std::string>& requested) {
  std::set<std::string> all;
  for (const std::string& name : names) {
    for (const Offered& source : offered(offers, name)) {
      all.insert(source.experiment->backends.begin(), source.experiment->backends.end());
    }
  }
  const std::vector<std::string> known(all.begin(), all.end());
  for (const std::string& backend : requested) {
    if (backend == "all" || all.contains(backend)) continue;
    throw Error("no selected experiment has a backend " + quote(backend) + did_you_mean(backend, known) +
                " (backends: " + join(known, ", ") + ")");
  }
}

/// Empty if all are kAsWritten.
std::vector<AxisType> types_of(const ExperimentDescription& experiment, const AxisTexts& point) {
  std::vector<AxisType> types;
  for (const auto& [name, text] : point) {
    const auto axis = std::ranges::find(experiment.axes, name, &Axis::name);
    types.push_back(axis == experiment.axes.end() ? AxisType::kAsWritten : axis_type(*axis, text));
  }
  const bool all = std::ranges::all_of(types, [](AxisType type) { return type == AxisType::kAsWritten; });
  return all ? std::vector<AxisType>{} : types;
}

/// File systems allow 255 bytes.
constexpr std::size_t kMaxBytes = 180;

bool is_plain(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9') ||
         std::string_view("._=-,#@").find(letter) != std::string_view::npos;
}

/// FNV-1a: std::hash may differ between runs.
std::uint32_t number_of(const std::string& text) {
  std::uint32_t hash = 2166136261U;
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619U;
  return hash;
}

bool is_shared(const std::string& experiment, const std::vector<RunnerOffer>& offers) {
  return std::ranges::count_if(offers, [&](const RunnerOffer& offer) {
           return !offer.only_limits &&
                  std::ranges::find(offer.experiments, experiment, &ExperimentDescription::name) !=
                      offer.experiments.end();
         }) > 1;
}

}  // namespace

std::string case_title(const std::string& experiment, const AxisTexts& point) {
  std::string title = experiment;
  for (const auto& [axis, value] : point) title += " " + axis + "=" + value;
  return title;
}

std::vector<AxisTexts> axis_points(const std::vector<Axis>& axes,
                                   const std::function<std::vector<std::string>(const Axis&)>& values) {
  std::vector<AxisTexts> found{{}};
  for (const Axis& axis : axes) {
    std::vector<AxisTexts> longer;
    for (const AxisTexts& point : found) {
      for (const std::string& value : values(axis)) {
        longer.push_back(point);
        longer.back().emplace_back(axis.name, value);
      }
    }
    found = std::move(longer);
  }
  return found;
}

std::vector<int> thread_counts(const ExperimentDescription& experiment, const Selection& selection) {
  if (!selection.threads.empty()) return selection.threads;
  return experiment.threads.empty() ? std::vector{selection.default_threads} : experiment.threads;
}

int max_threads(const std::vector<Group>& groups) {
  int most = 1;
  for (const Group& group : groups) {
    for (const PlannedCase& planned : group.cases) most = std::max(most, planned.spec.threads);
  }
  return most;
}

PlannedCase planned_case(std::size_t runner, const ExperimentDescription& experiment, const AxisTexts& point,
                         const std::string& backend, int threads, const Selection& selection) {
  const auto variants = experiment.variants.find(backend);
  return {runner,
          {experiment.name,
           point,
           backend,
           threads,
           selection.caches,
           selection.seed,
           {},
           selection.keep_wrong,
           selection.most_bytes,
           types_of(experiment, point)},
          experiment.metric,
          experiment.device,
          experiment.is_limit,
          variants == experiment.variants.end() ? std::vector<std::string>{} : variants->second,
          experiment.also_metrics,
          experiment.model,
          experiment.each_rank_counts};
}

std::vector<Group> plan(const std::vector<RunnerOffer>& offers, const Selection& selection) {
  const std::vector<std::string> names = selected_names(offers, selection);
  require_axes(axes_of(offers, names), selection.axes);
  require_backends(offers, names, selection.backends);
  std::vector<Group> groups;
  for (const std::string& name : names) append_groups(offered(offers, name), selection, groups);
  if (!groups.empty()) filter_groups(groups, selection.filter);
  if (names.empty()) throw Error("nothing to measure: no runner has an experiment");
  if (groups.empty()) {
    throw Error(
        "nothing to measure: no selected experiment has all requested axis values and backends (headroom run "
        "--list shows them)");
  }
  return groups;
}

std::string trace_file(const std::string& folder, const std::string& title, const PlannedCase& planned,
                       const std::vector<RunnerOffer>& offers) {
  std::string name = title + "." + planned.spec.backend;
  if (is_shared(planned.spec.experiment, offers)) name += "@" + offers.at(planned.runner).label;
  const std::string whole = name;
  std::ranges::replace_if(
      name, [](char letter) { return !is_plain(letter); }, '_');
  if (name.front() == '.') name.front() = '_';
  if (name.size() > kMaxBytes) name = fmt::format("{}-{:08x}", name.substr(0, kMaxBytes), number_of(whole));
  return (std::filesystem::path(folder) / (name + ".json")).string();
}

}  // namespace headroom
