// SPDX-License-Identifier: Apache-2.0
#include "cli/shared/print_run_tables.h"

#include "cli/shared/print_table.h"
#include "cli/shared/say.h"
#include "headroom/record/blas_dependency.h"
#include "headroom/report/nearest_limit.h"
#include "headroom/report/run_table.h"

namespace headroom::cli {

void print_run_tables(const std::vector<Record>& records, bool markdown, std::FILE* out) {
  print_table(run_table(records), out, markdown);
  print_text(run_legend(records), out);
  print_text(reference_blas_text(records), out);
  print_text(nearest_limit_text(records), out);
  const Table means = mean_table(records);
  if (means.size() == 0) return;
  print_text(markdown ? "\n" : "\nmean over shapes:\n", out);
  print_table(means, out, markdown);
}

}  // namespace headroom::cli
