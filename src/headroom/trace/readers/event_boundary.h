// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace headroom::trace::readers {

/// Where an event seems to start is told by what stands around its brace alone, so that it can be found
/// without having read what comes before: a comma, the brace, and a key that events have.
inline constexpr std::size_t kNoBoundary = static_cast<std::size_t>(-1);

/// The brace of the first event that seems to start at `from` or later: where to go on after a broken one.
std::size_t next_event(std::string_view text, std::size_t from);
/// The brace of the last one, which must come after the end of another: where to cut a text in two.
std::size_t last_boundary(std::string_view text);

}  // namespace headroom::trace::readers
