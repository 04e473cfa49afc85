// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/column_room.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <vector>

namespace headroom::trace::readers {
namespace {

constexpr std::size_t kPage = 4096;

/// Large pages: one page fault where there were 512.
template <typename Value>
void make_room(std::vector<Value>& column, std::size_t rows) {
  if (rows <= column.capacity()) return;
  column.reserve(rows);
  const auto start = reinterpret_cast<std::uintptr_t>(column.data());
  const std::uintptr_t first = (start + kPage - 1) / kPage * kPage;
  const std::uintptr_t end = (start + column.capacity() * sizeof(Value)) / kPage * kPage;
  constexpr std::size_t kWorthIt = std::size_t{8} << 20;
  if (end > first + kWorthIt)  // NOLINTNEXTLINE(performance-no-int-to-ptr)
    static_cast<void>(::madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE));
}

}  // namespace

void make_room(Trace& trace, Needs needs, std::size_t events) {
  constexpr std::size_t kMost = std::size_t{1} << 24;  // Addresses are not free without end.
  const std::size_t rows = std::min(events, kMost);
  try {
    make_room(trace.events.start_ns, rows);
    make_room(trace.events.duration_ns, rows);
    make_room(trace.events.name, rows);
    make_room(trace.events.thread, rows);
    make_room(trace.events.category, rows);
    make_room(trace.events.correlation, rows);
    make_room(trace.events.detail, rows);
    make_room(trace.gpu, rows);
    if (has(needs, Needs::kOpIds)) make_room(trace.ops, rows);
    if (has(needs, Needs::kMemory)) make_room(trace.memory, rows);
    if (has(needs, Needs::kFlows)) make_room(trace.flows, rows);
  } catch (const std::bad_alloc&) {
    // Where addresses are limited, columns grow as they have to.
  }
}

}  // namespace headroom::trace::readers
