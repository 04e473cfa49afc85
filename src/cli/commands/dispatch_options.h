// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/shared/command.h"
#include "cli/shared/rank_options.h"
#include "headroom/ranks/dispatch/dispatch_setup.h"

namespace headroom::cli {

/// What the user asked of `headroom dispatch`; a sample is a cycle, the goal the half-width of the hit's
/// median.
struct DispatchOptions : RankOptions {
  std::vector<std::string> ops;  ///< empty: the default panel
  bool update_expect = false;
  DispatchSetup setup;
  std::string expect;  ///< file of expectations, "pytorch" for the shipped ones; empty: none
};

/// Throws Error for values that do not parse or do not fit together; usage errors are printed.
DispatchOptions parse_dispatch_options(const Arguments& arguments);

}  // namespace headroom::cli
