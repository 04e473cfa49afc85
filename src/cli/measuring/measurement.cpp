// SPDX-License-Identifier: Apache-2.0
#include "cli/measuring/measurement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/console/interrupt.h"
#include "headroom/console/output.h"
#include "headroom/environment/fingerprint.h"
#include "headroom/ranks/rank_group.h"
#include "headroom/results/shown_records.h"
#include "headroom/schedule/case_records.h"

namespace headroom::cli {

Environment measuring_environment(const std::string& command, const Arguments& arguments, std::uint64_t seed,
                                  double max_time_ns, std::optional<double> precision) {
  std::vector<std::string> words{"headroom", command};
  words.insert(words.end(), arguments.begin(), arguments.end());
  Environment environment = read_environment(words);
  environment.extra_info["seed"] = std::to_string(seed);
  if (precision) environment.extra_info["precision"] = fmt::format("{:g}", *precision);
  if (std::isfinite(max_time_ns))
    environment.extra_info["max_time_s"] = fmt::format("{:g}", max_time_ns / 1e9);
  return environment;
}

ExitCode Measurement::run() {
  std::string lost;
  try {
    measure();
  } catch (const RankLost& loss) {
    lost = loss.what();
  } catch (const Interrupted&) {
  }
  if (!records_.empty()) {
    std::ranges::move(totals(), std::back_inserter(records_));
    // Standard output may have records for another program.
    print_view(shown_records(records_), files_.uses_stdout() ? stderr : stdout, markdown_);
    print_extras();
    store_results(records_, store_, journal_, [this] { files_.finish(records_); });
  }
  if (!lost.empty()) throw Error(lost);
  if (!was_interrupted()) return verdict();
  if (!records_.empty()) return report_interrupted();
  print_message("interrupted before anything was measured");
  return ExitCode::kInterrupted;
}

ExitCode Measurement::verdict() {
  if (any_outcome(records_, Outcome::Kind::kFailed)) return ExitCode::kFailure;
  return std::ranges::any_of(records_, is_unreached) ? ExitCode::kInconclusive : ExitCode::kSuccess;
}

void Measurement::add(const std::vector<Record>& finished) {
  journal_.finish_group(finished);
  records_.insert(records_.end(), finished.begin(), finished.end());
  try_write([this] { files_.write_partial(records_); });
}

void Measurement::take(const FinishedGroup& group) {
  journal_.take_group(group.title, group.records);
  records_.insert(records_.end(), group.records.begin(), group.records.end());
}

void Measurement::replace(std::vector<Record> records) {
  records_ = std::move(records);
  journal_.replace(records_);
  try_write([this] { files_.write_partial(records_); });
}

}  // namespace headroom::cli
