// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/ddp_collectives.h"

#include "cli/commands/ddp_collectives_options.h"
#include "cli/shared/rank_job.h"
#include "cli/shared/rank_measurement.h"
#include "headroom/ranks/collectives/collectives_records.h"
#include "headroom/ranks/collectives/collectives_table.h"

namespace headroom::cli {
namespace {

class CollectivesMeasurement final : public RankMeasurement {
 public:
  CollectivesMeasurement(const Arguments& arguments, const CollectivesOptions& options)
      : RankMeasurement("ddp", arguments, options), options_(options) {}

 private:
  std::vector<Group> groups(const SessionRequest& request, const std::vector<RunnerOffer>& offers) override {
    std::vector<Group> groups;
    for (const std::string& op : options_.ops) {
      for (const std::int64_t size : options_.sizes)
        groups.push_back(collective_group(op, size, options_.dtype, options_.ranks, request, offers));
    }
    return groups;
  }
  std::vector<Record> in_words(const std::vector<Record>& finished) const override {
    return collective_records(finished);
  }
  std::vector<Record> of_all() const override { return collective_lines(records()); }
  Sheet sheet() override { return collectives_sheet(records()); }
  Table rank_table() const override { return collectives_rank_table(records()); }

  const CollectivesOptions& options_;
};

}  // namespace

ExitCode collectives(const Arguments& arguments) {
  const CollectivesOptions options = parse_collectives_options(arguments);
  if (options.done) return *options.done;
  if (options.start.place && options.start.place->rank > 0) return follow(options.start);
  return CollectivesMeasurement(arguments, options).run();
}

}  // namespace headroom::cli
