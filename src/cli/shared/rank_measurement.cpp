// SPDX-License-Identifier: Apache-2.0
#include "cli/shared/rank_measurement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <utility>

#include "cli/shared/interrupt.h"
#include "cli/shared/print_table.h"
#include "cli/shared/rank_job.h"
#include "cli/shared/say.h"
#include "cli/shared/terminal_progress.h"
#include "headroom/base/error.h"
#include "headroom/machine/fingerprint.h"
#include "headroom/process/affinity.h"
#include "headroom/ranks/core_sharing.h"
#include "headroom/record/blas_dependency.h"
#include "headroom/schedule/worker.h"

namespace headroom::cli {
namespace {

/// What differs from one job of the same program to the next would pass for a difference of two.
constexpr int kJobsWhereCompared = 8;

std::shared_ptr<const Environment> environment_of(const char* command, const Arguments& arguments,
                                                  const RankOptions& options, StringMap provenance) {
  std::vector<std::string> words{"headroom", command};
  words.insert(words.end(), arguments.begin(), arguments.end());
  Environment environment = read_environment(words);
  StringMap& info = environment.extra_info;
  info["launcher"] = launcher_of(options.start);
  info["seed"] = std::to_string(options.seed);
  info["distributed_backend"] = options.backend;
  info["precision"] = fmt::format("{:g}", options.stop.precision);
  if (std::isfinite(options.stop.max_time_ns))
    info["max_time_s"] = fmt::format("{:g}", options.stop.max_time_ns / 1e9);
  info.merge(provenance);
  return std::make_shared<const Environment>(std::move(environment));
}

}  // namespace

RankMeasurement::RankMeasurement(const char* command, const Arguments& arguments, const RankOptions& options)
    : command_(command), arguments_(arguments), options_(options), files_(options.json, options.oss) {}

ExitCode RankMeasurement::run() {
  std::string lost;
  try {
    measure();
  } catch (const RankLost& loss) {
    lost = loss.what();
  } catch (const Interrupted&) {
  }
  if (!records_.empty()) report();
  if (!lost.empty()) throw Error(lost);
  return interrupt_flag() ? tell_interrupted() : verdict();
}

SessionRequest RankMeasurement::request() const {
  SessionRequest request;
  for (const std::string& runner : options_.start.runners)
    request.runners.push_back(rank_command(options_.start, runner, options_.patience, options_.backend));
  request.selection.default_threads = options_.start.threads;
  request.selection.caches = Caches::kHot;
  request.selection.seed = options_.seed;
  request.stop = options_.stop;
  request.processes = options_.start.runners.size() > 1 ? kJobsWhereCompared : 1;
  request.limits = options_.limits;
  request.sample_ns = 1;
  adjust(request);
  return request;
}

void RankMeasurement::measure() {
  const SessionRequest request = this->request();
  Session session(request, environment_of(command_, arguments_, options_, provenance()), interrupt_flag());
  ranks_ = session.offers().front();
  if (options_.list) return list(ranks_);
  const std::string shared = core_sharing(ranks_.ranks, options_.start.threads, allowed_cpus().size());
  if (!shared.empty()) say("warning: {}", shared);
  journal_.begin(*session.environment(), session.labels());
  const auto on_records = [&](const std::vector<Record>& finished) {
    std::vector<Record> records = in_words(finished);
    for (Record& record : records) {
      if (!shared.empty() && record.metric.headline) record.notes.push_back(shared);
    }
    journal_.finish_group(records);
    std::ranges::move(records, std::back_inserter(records_));
    write_if_possible([this] {
      write_each({[this] { files_.write_so_far(records_); }, [this] { write_so_far(); }});
    });
  };
  TerminalProgress progress(on_records, [this](const GroupResult& so_far) { journal_.note(so_far); });
  session.run(groups(request, rank_offers(session)), progress);
}

void RankMeasurement::report() {
  std::ranges::move(of_all(), std::back_inserter(records_));
  Sheet shown = sheet();
  if (options_.per_rank) shown.table(rank_table());
  print_sheet(shown.notes(reference_blas_text(records_), Tone::kBad), uses_stdout() ? stderr : stdout);
  report_more();
  keep_results(records_, options_.store, journal_, [this] {
    write_each({[this] { files_.finish(records_); }, [this] { write_so_far(); }});
  });
}

ExitCode RankMeasurement::verdict() const {
  return any_outcome(records_, Outcome::Kind::kFailed) ? ExitCode::kNo : ExitCode::kFine;
}

}  // namespace headroom::cli
