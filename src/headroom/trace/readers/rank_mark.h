// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "headroom/trace/readers/json_text.h"

namespace headroom::trace::readers {

/// Between the correlations, flows and other numbers that join events of one rank, and those of the next:
/// more than profilers count to, and few enough that thousands of ranks stay below 2^53, which is what
/// viewers in JavaScript hold.
inline constexpr std::int64_t kIdsOfARank = 1'000'000'000'000;

/// What sets the events of a rank apart from those of the others in one file, and puts them on one clock. Of
/// the first place numbers stay as they are.
struct RankMark {
  std::int64_t rank = 0;      ///< in the names of its processes
  std::int64_t place = 0;     ///< among the ranks, from 0: its numbers are moved by that many times a stride
  std::int64_t shift_ns = 0;  ///< added to every time
  std::int64_t process_stride = 10'000'000;
  std::int64_t device_stride = 100;
};

/// The process of an event as JSON: a number below the stride is moved, any other becomes "rank 3 Spans". An
/// event without one is in "rank 3".
void append_process(const RankMark& mark, Raw pid, std::string& out);

/// An id of the event itself (a flow, an asynchronous event), a scalar, as JSON: numbers, also hexadecimal
/// ones in strings, are moved; other text gets the rank in front.
void append_id(const RankMark& mark, Raw id, std::string& out);

/// An argument of an event, a scalar, that names what another event of the rank names too (a correlation, a
/// device): its number. Nothing for all others.
std::optional<std::int64_t> marked_argument(const RankMark& mark, std::string_view key, Raw value);

/// "rank 3: python"; the devices in the process names of JAX ("/device:GPU:0") are moved as others.
std::string marked_process_name(const RankMark& mark, std::string_view name);

/// Where the process stands among all: the ranks under each other, in each the host before its devices as
/// Kineto sorts them. Nothing given: after the host.
std::int64_t marked_sort_index(const RankMark& mark, std::optional<std::int64_t> index);

}  // namespace headroom::trace::readers
