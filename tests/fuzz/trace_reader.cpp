// SPDX-License-Identifier: Apache-2.0
// No crash, every event counted once; for intact files the result is independent of window size and the
// number of events of the requested columns.
#include <string_view>

#include "fuzz_checks.h"
#include "headroom/base/error.h"
#include "headroom_trace/readers/read.h"

namespace {

using headroom::trace::ReadOptions;

headroom::trace::Trace read(std::string_view text, const ReadOptions& options) {
  headroom::trace::Trace trace = headroom::trace::read_text(text, "fuzz.json", options);
  headroom::trace::expect_counted_once(trace);
  return trace;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom::trace;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ReadOptions whole, pieces;
  whole.threads = pieces.threads = 1;
  pieces.window_bytes = 64 + size % 512;
  ReadOptions few = whole;
  few.needs = Needs::kGpuWork | Needs::kSyntax | Needs::kPreciseTimes;
  try {
    const Trace trace = read(text, whole);
    const Trace cut = read(text, pieces);
    const Trace work = read(text, few);
    // In damaged text event boundaries are guesses that depend on later text.
    if (trace.problems.count > 0 || !trace.is_complete) return 0;
    expect(work.events_seen == trace.events_seen, "needs change how many events there are");
    expect(cut.problems.count == 0 && cut.is_complete, "windows break a whole file");
    expect(cut.events_seen == trace.events_seen, "windows change how many events there are");
    expect_same_events(trace, cut);
  } catch (const headroom::Error&) {
    // Not a trace.
  }
  return 0;
}
