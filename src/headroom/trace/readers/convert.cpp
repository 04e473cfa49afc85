// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/convert.h"

#include <algorithm>
#include <set>
#include <string>

#include "headroom/trace/readers/json_repair.h"
#include "headroom/trace/readers/rewrite.h"

namespace headroom::trace {
namespace {

/// The document around the events. Members come before and after the list, as in the file; a second list (the
/// first was closed too early) is a part of the first.
class ChromeTraceWriter {
 public:
  explicit ChromeTraceWriter(const WriteText& write) : write_(write) {}

  void add_events(std::string_view lines) {
    constexpr std::string_view kBetween = ",\n";
    if (state_ == State::kStart || state_ == State::kMembers)
      write_(state_ == State::kStart ? "{\"traceEvents\":[\n" : ",\n\"traceEvents\":[\n");
    // Members that came between two lists wait, so that all events are in one.
    if (state_ == State::kEvents) write_(kBetween);
    state_ = State::kEvents;
    events_ += static_cast<std::uint64_t>(std::ranges::count(lines, '\n'));
    lines.remove_suffix(kBetween.size());
    write_(lines);
  }

  void add_member(std::string_view name, std::string_view json) {
    // Of members of one name the first counts, as it does for most readers that stream.
    if (name == "traceEvents" || json.empty() || !names_.emplace(name).second) return;
    std::string text;
    readers::append_json_string(name, text);
    text += ':';
    text += json;
    if (state_ == State::kEvents) {
      after_events_ += ",\n" + text;
    } else {
      write_((state_ == State::kStart ? "{" : ",\n") + text);
      state_ = State::kMembers;
    }
  }

  std::uint64_t finish() {
    if (state_ != State::kEvents)
      write_(state_ == State::kStart ? "{\"traceEvents\":[" : ",\n\"traceEvents\":[");
    write_("\n]" + after_events_ + "}\n");
    return events_;
  }

 private:
  enum class State { kStart, kMembers, kEvents };
  const WriteText& write_;
  State state_ = State::kStart;
  std::set<std::string> names_;
  std::string after_events_;
  std::uint64_t events_ = 0;
};

}  // namespace

Conversion convert_to_chrome_trace(const std::filesystem::path& path, const WriteText& write,
                                   const ReadOptions& options) {
  ChromeTraceWriter writer(write);
  const readers::RewriteSink sink{
      [&writer](std::string_view lines) { writer.add_events(lines); },
      [&writer](std::string_view name, std::string_view json) { writer.add_member(name, json); }};
  Conversion conversion;
  conversion.facts = facts_of(rewrite(path, sink, options));
  conversion.events_written = writer.finish();
  return conversion;
}

}  // namespace headroom::trace
