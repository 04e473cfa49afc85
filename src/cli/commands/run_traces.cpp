// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/run_traces.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>

#include "cli/shared/say.h"
#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/text.h"
#include "headroom/record/gpu_shares.h"
#include "headroom/record/seed_rows.h"

namespace headroom::cli {

void require_traces(const std::string& folder, const std::vector<Group>& groups,
                    const std::vector<RunnerOffer>& offers) {
  std::set<std::string> runners;
  for (const Group& group : groups) {
    for (const PlannedCase& planned : group.cases) {
      if (offers.at(planned.runner).traces)
        return require_writable(std::filesystem::path(folder) / "trace.json");
      runners.insert(offers.at(planned.runner).label);
    }
  }
  throw Error("--trace: " + join(std::vector(runners.begin(), runners.end()), ", ") +
              " cannot record what a case does; headroom-torch (--backend aten, or --module FILE) "
              "and headroom-cuda (--backend cuda) can");
}

void report_traces(const std::string& folder, const std::vector<Record>& records) {
  std::set<std::string> files, said;
  std::string of_gpu;
  for (const Record& record : records) {
    const StringMap& extra = record.model.extra_info;
    if (const auto trace = extra.find("trace"); trace != extra.end()) {
      files.insert(trace->second);
      if (of_gpu.empty() && record.metric.name == kGpuUtilization) of_gpu = trace->second;
    }
    const auto untraced = extra.find("untraced");
    if (untraced == extra.end()) continue;
    const std::string what = "no trace of " + case_name(record) + " by " + record.model.backend + " [" +
                             record.runner + "]: " + untraced->second;
    if (said.insert(what).second) say_sentence(what);
  }
  if (files.empty()) return;
  say("{} trace{} in {}; for example: headroom trace {} {}", files.size(), files.size() == 1 ? "" : "s",
      folder, of_gpu.empty() ? "ops" : "kernels", in_quotes(of_gpu.empty() ? *files.begin() : of_gpu));
}

}  // namespace headroom::cli
