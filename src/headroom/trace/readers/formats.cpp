// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/formats.h"

// One line a format, in the order in which they are tried; each is `const FileFormat NAME` in
// formats/NAME.cpp.
#define HEADROOM_TRACE_FORMATS(FORMAT) \
  FORMAT(perfetto)                     \
  FORMAT(xplane)                       \
  FORMAT(nsight)                       \
  FORMAT(memory_snapshot)              \
  FORMAT(rocprofv3)                    \
  FORMAT(pytorch_execution)            \
  FORMAT(chakra)

namespace headroom::trace::readers {
namespace format {

#define HEADROOM_DECLARE(name) extern const FileFormat name;
HEADROOM_TRACE_FORMATS(HEADROOM_DECLARE)
#undef HEADROOM_DECLARE

}  // namespace format

const FileFormat* format_of(std::string_view first) {
#define HEADROOM_ENTRY(name) &format::name,
  static constexpr const FileFormat* kFormats[] = {HEADROOM_TRACE_FORMATS(HEADROOM_ENTRY)};
#undef HEADROOM_ENTRY
  for (const FileFormat* one : kFormats) {
    if (one->is(first)) return one;
  }
  return nullptr;
}

}  // namespace headroom::trace::readers
