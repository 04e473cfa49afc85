// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "headroom/trace/columns/trace.h"

namespace headroom::trace::readers {

/// True for the members of the outermost object, beside the events, that say something about the trace.
bool is_metadata_key(std::string_view key);

/// Puts one of them into the trace; what is wrong with it into its problems. `offset` is its place in the
/// file.
void read_metadata(std::string_view key, std::string_view value, std::uint64_t offset, Trace& trace);

/// The rank in a file's name (rank_numbers.h) into trace.rank, where the file itself said none.
void read_rank_from_name(Trace& trace);

}  // namespace headroom::trace::readers
