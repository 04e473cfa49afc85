// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <new>
#include <string>

#include "headroom/machine/memory.h"

namespace headroom::cli {

class OptionTable;

/// --max-memory, of every command that reads files which others wrote.
void declare_max_memory(OptionTable& table, std::string& text);

/// What it comes to; empty: a quarter of what the machine has, no more than is left. Throws
/// Error where it is no size, or less than any file needs.
std::int64_t max_memory_bytes(const std::string& text);

/// Throws Error: `what` takes more memory than that.
[[noreturn]] void refuse_for_memory(const std::string& what, std::int64_t most);

/// Calls `read`, which reads `what`, with no more memory than --max-memory allows. Throws Error where that is
/// not enough.
template <std::invocable Read>
auto within_memory(const std::string& max_memory, const std::string& what, Read&& read) {
  const std::int64_t most = max_memory_bytes(max_memory);
  const MemoryCap cap(most);
  try {
    return read();
  } catch (const std::bad_alloc&) {
    refuse_for_memory(what, most);
  }
}

}  // namespace headroom::cli
