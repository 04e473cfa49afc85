// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "headroom/trace/critical_path/critical_path_graph.h"
#include "trace_builder.h"

namespace headroom::trace {

inline constexpr Span kAnyTime{-1'000'000'000'000, 1'000'000'000'000};

using Times = std::map<std::string, std::int64_t>;
/// Time by class, without the classes that the path does not cross.
Times by_class(const CriticalPath& path);

CriticalPath path_of(const TraceBuilder& builder, Span window = kAnyTime);

/// Expects that every edge runs forward, and that the path is connected, no longer than its time, and the
/// longest there is.
void expect_sound(const PathGraph& graph);

/// A kernel of 1000 ns at 20, launched at 0, on the stream; then a call [100, 1100] and an op of 50 ns.
struct Waiting {
  TraceBuilder builder;
  explicit Waiting(const char* call, std::int64_t stream = 7);
  Times times() const { return by_class(path_of(builder)); }
};

}  // namespace headroom::trace
