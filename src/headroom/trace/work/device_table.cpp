// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/work/device_table.h"

#include "headroom/trace/tables/duration_stats.h"

namespace headroom::trace {
namespace {

std::vector<Cell> row_of(std::string device, std::string name, const Breakdown& times,
                         std::int64_t matmul_ns) {
  return {std::move(device),
          std::move(name),
          times.span_ns,
          times.busy_ns,
          share_cell(times.busy_ns, times.span_ns),
          times.compute_ns,
          times.exposed_communication_ns,
          times.exposed_memory_ns,
          times.idle_ns,
          matmul_ns,
          share_cell(matmul_ns, times.span_ns)};
}

}  // namespace

DataTable device_table(const Trace& trace, std::span<const DeviceTimes> devices,
                       std::span<const Spans> matmul) {
  DataTable table{"devices",
                  "devices",
                  {{"device", "device", Kind::kText},
                   {"name", "name", Kind::kText},
                   {"span_ns", "span", Kind::kTimeNs},
                   {"busy_ns", "busy", Kind::kTimeNs},
                   {"utilization", "utilization", Kind::kShare},
                   {"compute_ns", "compute", Kind::kTimeNs},
                   {"exposed_communication_ns", "exposed communication", Kind::kTimeNs},
                   {"exposed_memory_ns", "exposed copies", Kind::kTimeNs},
                   {"idle_ns", "idle", Kind::kTimeNs},
                   {"matmul_convolution_ns", "matmul+conv", Kind::kTimeNs},
                   {"matmul_convolution_share", "of span", Kind::kShare}},
                  {}};
  Breakdown sum;
  std::int64_t matmul_sum = 0;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const Breakdown times = breakdown(devices[i]);
    const std::int64_t matmul_ns = length(matmul[i]);
    sum += times;
    matmul_sum = saturating_add(matmul_sum, matmul_ns);
    table.rows.push_back(
        row_of(device_text(devices[i].device), device_name(trace, devices[i].device), times, matmul_ns));
  }
  if (devices.size() > 1) table.rows.push_back(row_of("all", "", sum, matmul_sum));
  return table;
}

}  // namespace headroom::trace
