// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "headroom/trace/tables/cells.h"
#include "headroom/trace/tables/data_table.h"
#include "headroom/trace/work/device_work.h"

namespace headroom::trace {

/// A row for each device, and one for all of them (times added up) where there are several: span, busy time,
/// utilisation, and the temporal breakdown. `matmul` is the time of matrix products and convolutions by
/// device.
DataTable device_table(const Trace& trace, std::span<const DeviceTimes> devices,
                       std::span<const Spans> matmul);

}  // namespace headroom::trace
