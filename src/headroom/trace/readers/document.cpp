// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/document.h"

#include <fmt/format.h>

#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/trace/readers/event_boundary.h"
#include "headroom/trace/readers/event_list.h"
#include "headroom/trace/readers/json_text.h"
#include "headroom/trace/readers/metadata.h"

namespace headroom::trace {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

void Document::read() {
  std::uint32_t at = text_.starts_with(kByteOrderMark) ? 3 : 0;
  at = skip_space(text_, at);
  if (at < text_.size() && text_[at] == '[') {
    at = read_list(at + 1);
  } else if (at < text_.size() && text_[at] == '{') {
    at = read_object(at + 1);
  }
  if (!has_list_) fail_as_no_trace();
  for (at = skip_space(text_, at); at < text_.size(); at = skip_space(text_, at)) {
    const std::size_t next = next_event(text_, at);
    if (next == kNoBoundary) {
      add_problem(at, "the text goes on after the end of the trace");
      break;
    }
    add_problem(at, "the list of events ends too early; more events come after its end");
    at = read_list(static_cast<std::uint32_t>(next));
  }
  builder_.finish();
}

std::uint32_t Document::read_object(std::uint32_t at) {
  for (;;) {
    at = skip_space(text_, at);
    if (at >= text_.size()) {
      trace_.is_complete = false;
      return at;
    }
    if (text_[at] == '}') return at + 1;
    if (text_[at] == ',') {
      ++at;
    } else if (text_[at] == '"') {
      at = read_member(at);
    } else {
      return at;
    }
  }
}

std::uint32_t Document::read_member(std::uint32_t at) {
  Structurals structurals;
  const Scan key = scan_value(text_, at, structurals);
  if (key.end != Scan::End::kComplete) return after_broken_member(at, key);
  const Raw name = without_quotes(text_.substr(at, key.at - at));
  std::uint32_t value = skip_space(text_, key.at);
  if (value >= text_.size() || text_[value] != ':') return value;
  value = skip_space(text_, value + 1);
  if (name == "traceEvents" && value < text_.size() && text_[value] == '[') return read_list(value + 1);
  const Scan scan = scan_value(text_, value, structurals);
  if (scan.end != Scan::End::kComplete) return after_broken_member(value, scan);
  if (is_metadata_key(name)) read_metadata(name, text_.substr(value, scan.at - value), value, trace_);
  return scan.at;
}

std::uint32_t Document::after_broken_member(std::uint32_t at, const Scan& scan) {
  if (scan.end == Scan::End::kBroken) add_problem(at, fmt::format("{}, at byte {}", scan.what, scan.at));
  if (!has_list_) {
    if (const std::size_t list = text_.find("\"traceEvents\"", at + 1); list != text_.npos) {
      return static_cast<std::uint32_t>(list);
    }
  }
  if (scan.end == Scan::End::kOpen) trace_.is_complete = false;
  return static_cast<std::uint32_t>(text_.size());
}

std::uint32_t Document::read_list(std::uint32_t at) {
  has_list_ = true;
  Batch batch;
  TolerantEventList list(text_, 0, true, reader_, batch);
  if (list.read(at) != TolerantEventList::End::kListEnd) trace_.is_complete = false;
  builder_.append(batch, reader_.tables());
  return list.at();
}

void Document::add_problem(std::uint64_t offset, std::string what) {
  append(trace_.problems, {1, 0, {{offset, std::move(what)}}});
}

void Document::fail_as_no_trace() const {
  const std::uint32_t at = skip_space(text_, 0);
  if (at >= text_.size()) throw Error("it is empty; write the trace again");
  if (text_[at] == '{') {
    throw Error(
        "it is JSON, or starts like it, but has no list of events (traceEvents); give a trace that a "
        "profiler wrote");
  }
  throw Error(fmt::format("it is no Chrome trace: it starts with {}; give the JSON that a profiler wrote",
                          in_quotes(text_.substr(at, 20))));
}

}  // namespace headroom::trace
