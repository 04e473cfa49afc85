// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/ddp_collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <memory>

#include "cli/commands/ddp_collectives_options.h"
#include "cli/shared/interrupt.h"
#include "cli/shared/print_table.h"
#include "cli/shared/rank_job.h"
#include "cli/shared/record_files.h"
#include "cli/shared/terminal_progress.h"
#include "headroom/report/collectives_table.h"
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

std::vector<Group> groups_of(const CollectivesOptions& options, const SessionRequest& request,
                             const std::vector<RunnerOffer>& offers) {
  std::vector<Group> groups;
  for (const std::string& op : options.ops) {
    for (const std::int64_t size : options.sizes)
      groups.push_back(collective_group(op, size, options.dtype, options.ranks, request, offers));
  }
  return groups;
}

/// One sweep: what was found so far is kept whatever ends it.
class Sweep {
 public:
  Sweep(const Arguments& arguments, const CollectivesOptions& options)
      : arguments_(arguments), options_(options), files_(options.json, options.oss) {}

  ExitCode run() {
    return run_rank_job([this] { measure(); }, [this] { report(); }, [this] { return verdict(); });
  }

 private:
  void measure() {
    SessionRequest request = rank_session(options_.start, options_.patience, options_.stop, options_.seed);
    request.limits = options_.limits;
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
    std::ranges::move(collective_lines(records_), std::back_inserter(records_));
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
