// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "headroom/record/record.h"

namespace headroom {

// What identity() tells, for files of very many cases: without the text that it makes of each record.

/// Equal where same_identity() is true.
std::size_t identity_hash(const Record& record);
/// Whether identity() of both is equal.
bool same_identity(const Record& a, const Record& b);

/// The same without the metric: of all that was measured of one case.
std::size_t case_hash(const Record& record);
bool same_case(const Record& a, const Record& b);

}  // namespace headroom
