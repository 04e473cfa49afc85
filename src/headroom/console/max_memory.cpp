// SPDX-License-Identifier: Apache-2.0
#include "headroom/console/max_memory.h"

#include <algorithm>

#include "headroom/base/error.h"
#include "headroom/base/units.h"
#include "headroom/console/option_table.h"

namespace headroom::cli {
namespace {

/// Program, threads and read windows.
constexpr std::int64_t kMin = std::int64_t{64} << 20;
constexpr std::int64_t kUnknown = std::int64_t{4} << 30;

}  // namespace

void declare_max_memory(OptionTable& table, std::string& text) {
  table
      .add_option("--max-memory", text,
                  "maximum memory for reading files (default: a quarter of the machine's)")
      .type_name("SIZE");
}

std::int64_t max_memory_bytes(const std::string& text) {
  if (text.empty()) {
    const std::int64_t total = total_memory_bytes();
    return std::max(std::min((total > 0 ? total : kUnknown) / 4, available_memory_bytes()), kMin);
  }
  const std::int64_t most = parse_bytes(text);
  if (most < kMin)
    throw Error("--max-memory " + text + " is too little for headroom itself; give at least 64MiB");
  return most;
}

void throw_memory_limit(const std::string& what, std::int64_t most) {
  throw Error(what + ": needs more than " + format_bytes(static_cast<double>(most)) +
              " of memory when unpacked; raise --max-memory");
}

}  // namespace headroom::cli
