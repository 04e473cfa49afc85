// SPDX-License-Identifier: Apache-2.0
#include "cli/shared/rank_options.h"

#include <chrono>
#include <cstdint>

#include "cli/shared/option_table.h"
#include "headroom/base/error.h"
#include "headroom/base/units.h"

namespace headroom::cli {

void declare_rank_start(OptionTable& table, RankStart& start, std::string& timeout) {
  table.add_option("--timeout", timeout, "most time for the ranks to start, and to answer (default 60s)");
  table
      .add_option("--port", start.port,
                  "where the ranks meet; another is taken where it is in use (default: any)")
      .range(1, 65535);
  table
      .add_option("--runner", start.runners,
                  "the program of a rank (default: headroom-torch-rank); repeat it to compare")
      .repeated()
      .completed_by(Completes::kFile);
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
