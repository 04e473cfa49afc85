// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "headroom/tables/table.h"
#include "headroom_trace/tables/data_table.h"

namespace headroom {

/// Shortens names to `most` characters: drops C++ namespaces and parameter lists, then the middle. Different
/// names stay different, by the place where they differ or, as a last resort, a number, which may exceed
/// `most`; equal ones stay equal.
std::vector<std::string> shortened_names(const std::vector<std::string>& names, std::size_t most);

struct TraceTextOptions {
  bool markdown = false;
  bool full_names = false;
  std::int64_t origin_ns = 0;  ///< origin of instants, which are shown in seconds
  std::size_t width = 0;       ///< in characters; 0: no limit
};

/// Cuts words of `sentence` that are longer than a line.
std::string with_short_words(const std::string& sentence, const TraceTextOptions& options);

/// "1.25 ms", "57.6 %", "32 MiB"; "-" if empty.
std::string trace_cell_text(const trace::Cell& cell, trace::Kind kind, const TraceTextOptions& options = {});

/// Within `width`, names are shortened first, then columns are left out by importance; a last line lists
/// them.
Table trace_table(const trace::DataTable& data, const TraceTextOptions& options = {});

}  // namespace headroom
