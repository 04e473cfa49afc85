// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/trace/columns/spans.h"
#include "headroom/trace/columns/trace.h"

namespace headroom::trace {

/// When the program waited for a DataLoader: torch's own annotation "enumerate(DataLoader)#...".
Spans data_loading(const Trace& trace);
/// When a communication library of the host ran: gloo and MPI annotate "gloo:all_reduce". That of the devices
/// is in their kernels.
Spans host_communication(const Trace& trace);
/// When any operator of the framework ran, on any thread; annotations such as the steps are none.
Spans operators(const Trace& trace);
/// When any event of the category ran, on any thread.
Spans times_of(const Trace& trace, Category category);

}  // namespace headroom::trace
