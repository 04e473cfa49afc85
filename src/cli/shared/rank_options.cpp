// SPDX-License-Identifier: Apache-2.0
#include "cli/shared/rank_options.h"

#include <chrono>
#include <cstdint>

#include "cli/shared/option_table.h"
#include "cli/shared/record_options.h"
#include "headroom/base/error.h"
#include "headroom/base/units.h"

namespace headroom::cli {

void declare_ranks(OptionTable& table, RawRankOptions& raw, RankOptions& options) {
  RankStart& start = options.start;
  table.add_option("--threads", start.threads, "threads of an operator in each rank (default 1)")
      .range(1, 4096);
  table.add_option("--seed", options.seed,
                   "of the data, the parameters and the order of samples (default 1)");
  table.add_option("--timeout", raw.timeout, "most time for the ranks to start, and to answer (default 60s)");
  table
      .add_option("--port", start.port,
                  "where the ranks meet; another is taken where it is in use (default: any)")
      .range(1, 65535);
  table
      .add_option("--runner", start.runners,
                  "the program of a rank, or pytorch for that of Python (default: headroom-torch-rank); repeat it to "
                  "compare")
      .repeated()
      .completed_by(Completes::kFile);
}

void declare_limits(OptionTable& table, RawRankOptions& raw, RankOptions& options) {
  options.limits = true;
  table.add_flag("--no-limits", raw.no_limits, "do not sample what this machine can do");
}

void declare_rank_output(OptionTable& table, RawRankOptions& raw, RankOptions& options) {
  table.add_flag("--per-rank", options.per_rank, "show the medians of each rank");
  declare_store(table, options.store, raw.no_store);
}

void settle_ranks(const RawRankOptions& raw, RankOptions& options, const std::string& command) {
  options.patience = rank_patience(raw.timeout);
  settle_rank_programs(options.start, command);
  options.start.timeout = options.patience.start;
  if (raw.no_limits) options.limits = false;
  settle_store(options.store, raw.no_store);
}

RankPatience rank_patience(const std::string& timeout) {
  RankPatience patience;
  if (timeout.empty()) return patience;
  const double timeout_ns = parse_time_ns(timeout);
  if (timeout_ns < 1e6) throw Error("--timeout " + timeout + " is below 1 ms");
  patience.start = patience.reply = std::chrono::milliseconds(static_cast<std::int64_t>(timeout_ns / 1e6));
  return patience;
}

}  // namespace headroom::cli
