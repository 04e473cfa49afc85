// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "headroom/base/sheet.h"
#include "headroom/record/record.h"

namespace headroom::cli {

/// What the instrument that made the records shows of them; of several instruments one below the other.
/// Throws Error where a record says of its run what cannot be.
Sheet shown_records(const std::vector<Record>& records);

/// What `headroom ab` and `headroom time` show: commands, each group compared with its first one.
Sheet shown_commands(const std::vector<Record>& records);

}  // namespace headroom::cli
