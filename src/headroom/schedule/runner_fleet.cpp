// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/runner_fleet.h"

#include <algorithm>
#include <filesystem>

#include "headroom/base/error.h"

namespace headroom {

void RunnerFleet::add(RunnerCommand command, bool only_limits) {
  Member member{std::move(command), {}, {}, false, only_limits, nullptr};
  try {
    member.process = start_runner(member.command, interrupted_);
    if (member.command.socket) member.command.socket = -1;  // there is no second one
  } catch (const RunnerRefused& refusal) {
    if (!member.command.may_refuse) throw;
    left_out_.push_back(std::filesystem::path(member.command.path).filename().string() + ": " +
                        refusal.what());
    return;
  }
  member.name = member.process->hello().name;
  member.traces = member.process->hello().traces;
  member.counts = member.process->hello().counts;
  try {
    member.description = member.process->describe();
  } catch (const RunnerLost& lost) {
    throw RunnerUnfit("runner " + member.command.path + " cannot say what it offers: it " + lost.reason);
  }
  members_.push_back(std::move(member));
}

std::vector<RunnerOffer> RunnerFleet::offers() const {
  std::vector<RunnerOffer> offers;
  for (std::size_t index = 0; index < members_.size(); ++index) {
    const Member& member = members_[index];
    offers.push_back({label_of(index), member.description.experiments, member.only_limits, member.traces,
                      member.description.devices, member.description.blas, member.description.ranks,
                      member.command.is_company, member.counts});
  }
  return offers;
}

std::string RunnerFleet::label_of(std::size_t index) const {
  const Member& member = members_[index];
  // A runner of ours that is there for the limits gives way to one that the user asked for.
  const bool is_taken = std::ranges::any_of(members_, [&](const Member& other) {
    return &other != &member && other.name == member.name && (!other.only_limits || member.only_limits);
  });
  if (!is_taken) return member.name;
  const auto earlier =
      std::count_if(members_.begin(), members_.begin() + static_cast<std::ptrdiff_t>(index),
                    [&](const Member& other) { return other.command.path == member.command.path; });
  return earlier == 0 ? member.command.path : member.command.path + "#" + std::to_string(earlier + 1);
}

Worker& RunnerFleet::at(std::size_t runner) {
  Member& member = members_.at(runner);
  if (!member.process) {
    try {
      member.process = start_runner(member.command, interrupted_);
    } catch (const Error& error) {
      throw RunnerLost{std::string("could not be started again: ") + error.what()};
    }
  }
  return *member.process;
}

void RunnerFleet::finish() {
  for (Member& member : members_) {
    if (member.process) member.process->finish();
    member.process.reset();
  }
}

void RunnerFleet::stop(std::size_t runner) {
  // One that runs anyhow goes on: another process of it is not to be had.
  const Member& member = members_.at(runner);
  if (member.command.socket && member.process && !member.process->is_lost()) return;
  members_.at(runner).process.reset();
}

}  // namespace headroom
