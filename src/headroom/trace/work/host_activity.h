// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "headroom/trace/columns/spans.h"
#include "headroom/trace/columns/steps.h"
#include "headroom/trace/columns/trace.h"

namespace headroom::trace {

/// True for the annotation in which a program waits for its input: torch's "enumerate(DataLoader)#...",
/// "enumerate(DataPipe)#...", Lightning's "...dataloader_next", TensorFlow's "IteratorGetNext".
bool is_data_loading(std::string_view annotation);

/// When the program waited for its input (is_data_loading).
Spans data_loading(const Trace& trace);
/// When a communication library of the host ran: gloo and MPI annotate "gloo:all_reduce". That of the devices
/// is in their kernels.
Spans host_communication(const Trace& trace);
/// When any operator of the framework ran, on any thread; annotations such as the steps are none.
Spans operators(const Trace& trace);
/// When any event of the category ran, on any thread.
Spans times_of(const Trace& trace, Category category);

}  // namespace headroom::trace
