// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/schedule/case_records.h"

namespace headroom {
namespace {

constexpr double kGibibyte = 1024.0 * 1024 * 1024;

void describe(Environment::Runner& machine, const std::vector<DeviceDescription>& devices) {
  const DeviceDescription& first = devices.front();
  machine.gpu_info = first.name;
  machine.gpu_count = static_cast<std::uint32_t>(devices.size());
  double bytes = 0;
  for (const DeviceDescription& device : devices) bytes += static_cast<double>(device.memory_bytes);
  if (bytes > 0) {
    machine.gpu_mem_info = format_bytes(static_cast<double>(first.memory_bytes));
    machine.avail_gpu_mem_in_gb = static_cast<std::uint32_t>(bytes / kGibibyte);
  }
  const auto say = [&](const char* name, const std::string& text) {
    if (!text.empty()) machine.extra_info[name] = text;
  };
  const auto say_number = [&](const char* name, double value) {
    if (value > 0) machine.extra_info[name] = fmt::format("{:g}", value);
  };
  say("gpu_uuid", first.uuid);
  say("gpu_pci_bus_id", first.pci_bus_id);
  say("gpu_driver", first.driver);
  say("gpu_cuda", first.cuda);
  say("gpu_compute_capability", first.compute_capability);
  say("gpu_ecc", first.ecc);
  say("gpu_mig", first.mig);
  say_number("gpu_multiprocessors", static_cast<double>(first.multiprocessors));
  say_number("gpu_max_sm_mhz", first.max_sm_mhz);
  say_number("gpu_max_memory_mhz", first.max_memory_mhz);
  say_number("gpu_memory_bus_bits", static_cast<double>(first.memory_bus_bits));
  say_number("gpu_power_limit_w", first.power_limit_w);
  machine.gpu_l2_bytes = first.l2_bytes;
  if (first.l2_bytes > 0) say("gpu_l2", format_bytes(static_cast<double>(first.l2_bytes)));
}

constexpr int kProcesses = 3;

/// Of the time left, for starting one of several runners.
constexpr double kStartingShare = 2.0 / 3;

/// Groups with a stop rule, such as collectives, take little time.
constexpr double kShareOfOwnRule = 0.25;

double weight_of(const Group& group) {
  return group.stop ? kShareOfOwnRule : 1;
}

std::shared_ptr<const Environment> with_rank_library(std::shared_ptr<const Environment> environment,
                                                     const std::vector<RunnerOffer>& offers) {
  std::vector<const RankHello*> leaders;
  for (const RunnerOffer& offer : offers) {
    if (!offer.ranks.empty()) leaders.push_back(&offer.ranks.front());
  }
  if (leaders.empty() || !environment) return environment;
  auto completed = std::make_shared<Environment>(*environment);
  for (const RankHello* leader : leaders)
    completed->dependencies[leader->library.name].version = leader->library.version;
  const bool any_counts =
      std::ranges::any_of(leaders, [](const RankHello* leader) { return leader->no_counters.empty(); });
  if (!any_counts) set_no_counters(*completed, leaders.front()->no_counters);
  return completed;
}

}  // namespace

std::shared_ptr<const Environment> environment_with_blas(
    const std::shared_ptr<const Environment>& environment, const std::vector<RunnerOffer>& offers) {
  std::shared_ptr<Environment> completed;
  for (const RunnerOffer& offer : offers) {
    if (!offer.blas || !environment) continue;
    if (!completed) completed = std::make_shared<Environment>(*environment);
    add_blas(*completed, *offer.blas, offer.label);
  }
  return completed ? completed : environment;
}

std::shared_ptr<const Environment> environment_with_devices(std::shared_ptr<const Environment> environment,
                                                            const std::vector<RunnerOffer>& offers) {
  for (const RunnerOffer& offer : offers) {
    if (offer.devices.empty() || !environment || environment->machines.empty()) continue;
    auto completed = std::make_shared<Environment>(*environment);
    describe(completed->machines.front(), offer.devices);
    return completed;
  }
  return environment;
}

Session::Session(SessionRequest request, std::shared_ptr<const Environment> environment,
                 const std::atomic<bool>& interrupted)
    : request_(std::move(request)),
      end_ns_(steady_now_ns() + request_.run_time_ns),
      environment_(std::move(environment)),
      interrupted_(interrupted),
      fleet_(interrupted) {
  start_runners();
  fleet_.set_deadline(end_ns_);
  offers_ = fleet_.offers();
  environment_ = with_rank_library(
      environment_with_blas(environment_with_devices(std::move(environment_), offers_), offers_), offers_);
}

/// A stuck runner leaves time for the others.
double Session::starting_end_ns(std::size_t index) const {
  const bool is_last_hope = index + 1 == request_.runners.size() && late_.size() == index;
  if (is_last_hope || index >= request_.runners.size()) return end_ns_;
  const double now_ns = steady_now_ns();
  return now_ns + (end_ns_ - now_ns) * kStartingShare;
}

void Session::start_runners() {
  for (std::size_t index = 0; index < request_.runners.size(); ++index) {
    const RunnerCommand& command = request_.runners[index];
    fleet_.set_deadline(starting_end_ns(index));
    try {
      fleet_.add(command, false);
    } catch (const OutOfTime&) {
      const auto here = request_.runners.begin() + static_cast<std::ptrdiff_t>(index);
      const auto earlier =
          std::ranges::count(request_.runners.begin(), here, command.path, &RunnerCommand::path);
      late_.push_back(earlier == 0 ? command.path : fmt::format("{}#{}", command.path, earlier + 1));
    } catch (const RunnerUnusable& error) {
      if (request_.runners.size() == 1) throw;
      const bool refuses = dynamic_cast<const RunnerRefused*>(&error) != nullptr;
      unusable_runners_.push_back((refuses ? command.path + ": " : "") + error.what());
      if (unusable_runners_.size() == request_.runners.size()) throw Error(join(unusable_runners_, "\n"));
    }
  }
  for (const std::string& path : request_.limit_runners) {
    if (std::ranges::find(request_.runners, path, &RunnerCommand::path) != request_.runners.end()) continue;
    RunnerCommand command;
    command.path = path;
    command.environment = request_.environment;
    try {
      fleet_.add(std::move(command), true);
    } catch (const OutOfTime&) {  // only limits are missing
    }
  }
}

std::vector<Group> Session::groups() const {
  if (late_.empty()) return plan(offers_, request_.selection);
  try {
    return plan(offers_, request_.selection);
  } catch (const Error&) {  // a late runner may have the selection
    return {};
  }
}

/// One skipped row per requested experiment, or one for the runner if its experiments are unknown.
void Session::report_late(Observer& observer) const {
  for (const std::string& label : late_) {
    Group group;
    for (const std::string& name : request_.selection.names)
      group.cases.emplace_back().spec.experiment = name;
    if (group.cases.empty()) {
      group.cases.emplace_back().spec.experiment = std::filesystem::path(label).filename().string();
    }
    for (PlannedCase& planned : group.cases) {
      planned.device = "cpu";
      planned.metric = "latency";
      planned.spec.threads = request_.selection.default_threads;
    }
    const GroupResult result =
        unreached(group, "not reached " + out_of_time() + ": the runner had not started");
    observer.finished(case_records(result, {label}, environment_));
  }
}

std::string Session::out_of_time() const {
  const std::string time = format_time_ns(request_.run_time_ns);
  if (!request_.group_time) return "within --max-time " + time;
  return "within the " + time + " of " + request_.group_time->option + " (--max-time gives more)";
}

double Session::sampling_share(const std::vector<Group>& groups, std::size_t index) const {
  double weights = 0;
  for (std::size_t later = index; later < groups.size(); ++later) weights += weight_of(groups[later]);
  return (end_ns_ - steady_now_ns()) * weight_of(groups[index]) / weights;
}

RoundSettings Session::round_settings(const Group& group, std::size_t index) const {
  RoundSettings settings{request_};
  settings.stop = group.stop.value_or(request_.stop);
  settings.processes = request_.processes;
  if (settings.processes == 0)
    settings.processes = group.cases.size() > 1 ? kProcesses : request_.processes_alone;
  settings.limits = request_.limits && !group.cases.front().is_limit;
  settings.seed = request_.selection.seed + index;
  settings.now_ns = steady_now_ns;
  settings.end_ns = end_ns_;
  settings.out_of_time = "not reached " + out_of_time();
  return settings;
}

std::vector<std::string> Session::labels() const {
  std::vector<std::string> labels;
  for (const RunnerOffer& offer : offers_) labels.push_back(offer.label);
  return labels;
}

void Session::run(const std::vector<Group>& groups, Observer& observer, const CompleteRecords& complete) {
  const std::vector<std::string> labels = this->labels();
  if (request_.group_time) {
    request_.run_time_ns = std::max(request_.group_time->least_ns,
                                    request_.group_time->each_ns * static_cast<double>(groups.size()));
    end_ns_ = steady_now_ns() + request_.run_time_ns;
  }
  for (std::size_t index = 0; index < groups.size() && !interrupted_; ++index) {
    const auto report = [&](Progress progress) {
      progress.group = index;
      progress.groups = groups.size();
      observer.progress(progress);
    };
    RoundSettings settings = round_settings(groups[index], index);
    settings.share_ns = sampling_share(groups, index);
    settings.stop.max_time_ns = std::min(settings.stop.max_time_ns, settings.share_ns);
    settings.on_round = [&](const GroupResult& so_far) { observer.sampled(so_far); };
    const auto measured = [&] {
      if (steady_now_ns() >= end_ns_) return unreached(groups[index], settings.out_of_time);
      return GroupRun(groups[index], offers_, fleet_, std::move(settings), report, interrupted_).run();
    };
    const GroupResult result = measured();
    std::vector<Record> records = case_records(result, labels, environment_);
    if (complete) complete(records);
    observer.finished(records);
    if (!result.lost.empty()) throw RankLost(result.lost);
  }
  if (interrupted_) return;
  report_late(observer);
  try {
    fleet_.finish();
  } catch (const RunnerLost& lost) {
    throw RankLost(lost.reason);
  }
}

}  // namespace headroom
