// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <new>
#include <string>

#include "headroom/machine/memory.h"

namespace headroom::cli {

class OptionTable;

/// For commands that read untrusted files.
void declare_max_memory(OptionTable& table, std::string& text);

/// Empty: a quarter of the machine's memory, within the available memory. Throws Error for an invalid or too
/// small size.
std::int64_t max_memory_bytes(const std::string& text);

[[noreturn]] void throw_memory_limit(const std::string& what, std::int64_t most);

/// Reads under the cap. Throws Error if the memory does not suffice.
template <std::invocable Read>
auto with_memory_limit(const std::string& max_memory, const std::string& what, Read&& read) {
  const std::int64_t most = max_memory_bytes(max_memory);
  const MemoryCap cap(most);
  try {
    return read();
  } catch (const std::bad_alloc&) {
    throw_memory_limit(what, most);
  }
}

}  // namespace headroom::cli
