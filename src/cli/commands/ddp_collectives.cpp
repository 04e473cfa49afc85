// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/ddp_collectives.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "cli/commands/ddp_collectives_options.h"
#include "cli/shared/interrupt.h"
#include "cli/shared/print_table.h"
#include "cli/shared/rank_job.h"
#include "cli/shared/record_files.h"
#include "cli/shared/terminal_progress.h"
#include "headroom/base/units.h"
#include "headroom/report/collectives_table.h"
#include "headroom/runner/collective_sizes.h"
#include "headroom/schedule/collectives_records.h"
#include "headroom/schedule/session.h"

namespace headroom::cli {
namespace {

std::shared_ptr<const Environment> environment_of(const Arguments& arguments,
                                                  const CollectivesOptions& options) {
  Environment environment = rank_environment("ddp", arguments, options.start);
  environment.extra_info["seed"] = std::to_string(options.seed);
  environment.extra_info["precision"] = fmt::format("{:g}", options.stop.precision);
  environment.extra_info["max_time_s"] = fmt::format("{:g}", options.stop.max_time_ns / 1e9);
  return std::make_shared<const Environment>(std::move(environment));
}

/// A collective of one size by all rank counts and runners is a group, which shares its rounds.
std::vector<Group> groups_of(const CollectivesOptions& options, const SessionRequest& request,
                             const std::vector<RunnerOffer>& offers) {
  std::vector<Group> groups;
  for (const std::string& op : options.ops) {
    for (const std::int64_t size : options.sizes) {
      Group group{fmt::format("{} of {}", op, format_bytes(static_cast<double>(size))), {}};
      for (const int count : options.ranks) {
        const AxisTexts point{{"bytes", std::to_string(collective_bytes(op, size, options.dtype, count))},
                              {"ranks", std::to_string(count)},
                              {"dtype", options.dtype}};
        for (std::size_t runner = 0; runner < offers.size(); ++runner) {
          group.cases.push_back(
              planned_case(runner, experiment_of(offers[runner], op), point, "gloo", request.selection));
        }
      }
      groups.push_back(std::move(group));
    }
  }
  return groups;
}

/// One sweep: what was found so far is kept whatever ends it.
class Sweep {
 public:
  Sweep(const Arguments& arguments, const CollectivesOptions& options)
      : arguments_(arguments), options_(options), files_(options.json, options.oss) {}

  ExitCode run() {
    return run_rank_job([this](const auto&) { measure(); }, [this] { report(); },
                        [this] { return verdict(); });
  }

 private:
  void measure() {
    const SessionRequest request =
        rank_session(options_.start, options_.patience, options_.stop, options_.seed);
    Session session(request, environment_of(arguments_, options_), interrupt_flag());
    warning_ = warn_of_core_sharing(session.offers().front());
    TerminalProgress progress([this](const std::vector<Record>& finished) { keep(finished); });
    session.run(groups_of(options_, request, session.offers()), progress);
  }

  void keep(const std::vector<Record>& finished) {
    for (Record& record : collective_records(finished)) {
      if (!warning_.empty()) record.notes.push_back(warning_);
      records_.push_back(std::move(record));
    }
    files_.write_so_far(records_);
  }

  void report() {
    if (records_.empty()) return;
    // Records on standard output are for a program to read: the tables make way.
    std::FILE* out = files_.uses_stdout() ? stderr : stdout;
    std::fputs(collectives_report(records_, terminal_width(out)).c_str(), out);
    if (options_.per_rank)
      std::fprintf(out, "\n%s", collectives_rank_report(records_, terminal_width(out)).c_str());
    files_.finish(records_);
    append_to_history(records_, options_.store);
  }

  ExitCode verdict() const {
    return any_outcome(records_, Outcome::Kind::kFailed) ? ExitCode::kNo : ExitCode::kFine;
  }

  const Arguments& arguments_;
  const CollectivesOptions& options_;
  RecordFiles files_;
  std::string warning_;
  std::vector<Record> records_;
};

}  // namespace

ExitCode collectives(const Arguments& arguments) {
  const CollectivesOptions options = parse_collectives_options(arguments);
  if (options.done) return *options.done;
  if (options.start.place && options.start.place->rank > 0) return follow(options.start);
  return Sweep(arguments, options).run();
}

}  // namespace headroom::cli
