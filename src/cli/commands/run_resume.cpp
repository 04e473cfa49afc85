// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/run_resume.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "cli/shared/say.h"
#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/machine/fingerprint.h"

namespace headroom::cli {
namespace {

[[noreturn]] void refuse(const UnfinishedRun& run, const std::string& why) {
  throw Error(fmt::format("cannot go on with `{}`: {}; `headroom show @unfinished` has what it measured",
                          join(run.environment.command, " "), why));
}

}  // namespace

UnfinishedRun run_to_resume() {
  UnfinishedRun run = newest_unfinished("run");
  say_sentence(run.sentence());
  if (!run.is_whole_command) refuse(run, "a secret on its command line was not kept");
  const std::vector<std::string>& words = run.environment.command;
  if (std::ranges::any_of(words, [](const std::string& word) { return word.starts_with("--runner-socket"); }))
    refuse(run, "it measured functions of a process that is gone");
  if (run.environment.fingerprint != read_environment({}).fingerprint)
    refuse(run, "it ran on another machine, or one whose kernel or settings have changed");
  std::error_code error;
  std::filesystem::current_path(run.folder, error);
  if (error) refuse(run, fmt::format("its folder {}: {}", in_quotes(run.folder.string()), error.message()));
  return run;
}

Arguments arguments_of(const UnfinishedRun& run) {
  const std::vector<std::string>& words = run.environment.command;
  return {words.begin() + 2, words.end()};
}

void note_resumed(const UnfinishedRun& before, Environment& environment) {
  if (before.finished.empty()) return;
  environment.extra_info["resumed"] =
      fmt::format("{} groups were measured by a run that began at {} s since 1970 and was killed",
                  before.finished.size(), before.environment.timestamp);
}

std::vector<Record> take_finished(const UnfinishedRun& before, std::vector<Group>& groups,
                                  const std::shared_ptr<const Environment>& environment,
                                  RunJournal& journal) {
  std::vector<Record> taken;
  for (const FinishedGroup& finished : before.finished) {
    const auto group = std::ranges::find(groups, finished.title, &Group::title);
    // One that gave no sample has no title in the journal, and costs nothing to be tried again.
    if (group == groups.end()) continue;
    groups.erase(group);
    std::vector<Record> records = finished.records;
    for (Record& record : records) record.environment = environment;
    journal.take_group(finished.title, records);
    std::ranges::move(records, std::back_inserter(taken));
  }
  say("{} group{} taken from it, {} to measure", before.finished.size(),
      before.finished.size() == 1 ? " is" : "s are", groups.size());
  std::error_code error;
  std::filesystem::remove(before.path, error);
  return taken;
}

}  // namespace headroom::cli
