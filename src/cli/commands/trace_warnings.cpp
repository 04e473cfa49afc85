// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/trace_warnings.h"

#include <fmt/format.h>

#include <cstdio>

#include "cli/shared/say.h"

namespace headroom::cli {
namespace {

std::string problems_text(const trace::TraceFacts& facts) {
  const trace::Problems& problems = facts.problems;
  const char* const advice = "; headroom trace validate FILE says more";
  if (problems.count == 0) {
    if (facts.is_complete) return "";
    return facts.source + ": the file ends before its JSON does; used up to there" + advice;
  }
  std::string text = fmt::format("{}: {} {}, {} {} left out", facts.source, problems.count,
                                 problems.count == 1 ? "problem" : "problems", problems.events_skipped,
                                 problems.events_skipped == 1 ? "event" : "events");
  if (!problems.first.empty()) {
    const trace::Problem& first = problems.first.front();
    text += fmt::format("; the first at byte {}: {}", first.offset, first.what);
  }
  return text + advice;
}

}  // namespace

void warn_of_problems(const std::vector<trace::TraceFacts>& traces) {
  constexpr std::size_t kMost = 10;
  std::size_t files = 0;
  for (const trace::TraceFacts& facts : traces) {
    const std::string text = problems_text(facts);
    if (!text.empty() && ++files <= kMost) say_sentence(text);
  }
  if (files > kMost) say_sentence(fmt::format("and {} more files with problems", files - kMost));
}

}  // namespace headroom::cli
