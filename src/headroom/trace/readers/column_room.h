// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "headroom/trace/columns/trace.h"
#include "headroom/trace/readers/read.h"

namespace headroom::trace::readers {

/// Room for `events` events in every column that may be filled, so that no column is copied to grow, which
/// takes twice its memory while it lasts. What is not used is never touched, and takes none.
void make_room(Trace& trace, Needs needs, std::size_t events);

}  // namespace headroom::trace::readers
