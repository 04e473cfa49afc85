// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include "fuzz_checks.h"
#include "headroom/base/error.h"
#include "headroom_trace/readers/read.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom::trace;
  const MemoryFile file({reinterpret_cast<const char*>(data), size});
  ReadOptions options;
  options.threads = 1;
  try {
    expect_counted_once(read(file.path(), options));
  } catch (const headroom::Error&) {
    // Not a trace, or damaged: a user error.
  }
  return 0;
}
