// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "headroom/trace/readers/event_values.h"
#include "headroom/trace/readers/read.h"

namespace headroom::trace::readers {

/// The arguments of events of a category that are read.
ArgumentMask arguments_of(Category category, Needs needs);

/// Adds what the arguments of the event of `row` say to the batch's table of its category. The row there, or
/// kNone where they say nothing.
std::uint32_t add_detail(Category category, Needs needs, EventValues& values, std::uint32_t row,
                         Batch& batch);

}  // namespace headroom::trace::readers
