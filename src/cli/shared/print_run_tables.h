// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <vector>

#include "headroom/record/record.h"

namespace headroom::cli {

/// The tables of `headroom run`: the cases, what their marks mean, which limit is nearest, the means over
/// shapes.
void print_run_tables(const std::vector<Record>& records, bool markdown, std::FILE* out);

}  // namespace headroom::cli
