// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/readers/event_writer.h"

#include <fmt/format.h>

#include <array>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom_trace/json/strict_json.h"

namespace headroom::trace::readers {
namespace {

constexpr std::uint64_t kBatch = 4096;
/// Walks read whole words past the end of the text.
constexpr std::size_t kPadding = 64;

/// Kineto's spellings, in the order of Category.
constexpr std::array<std::string_view, kCategories> kSpellings{
    "kernel",      "gpu_memcpy", "gpu_memset",      "gpu_user_annotation", "cuda_sync", "cuda_runtime",
    "cuda_driver", "cpu_op",     "user_annotation", "python_function",     "overhead",  "other"};

/// Appends exact microseconds.
void append_time(std::int64_t ns, std::string& out) {
  const std::uint64_t size = ns < 0 ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  if (ns < 0) out += '-';
  out += fmt::format_int(size / 1000).c_str();
  if (size % 1000 == 0) return;
  out += '.';
  const auto decimals = static_cast<unsigned>(size % 1000);
  for (const unsigned unit : {100U, 10U, 1U}) out += static_cast<char>('0' + decimals / unit % 10);
}

/// Appends a number as a number, other text as a string.
void append_id(std::string_view text, std::string& out) {
  if (const auto number = to_integer(text); number && std::to_string(*number) == text) {
    out += text;
  } else {
    append_json_string(text, out);
  }
}

void append_place(Place place, std::string& out) {
  out += ",\"pid\":";
  append_id(place.pid, out);
  out += ",\"tid\":";
  append_id(place.tid, out);
}

}  // namespace

EventWriter::EventWriter(Trace& trace, const ReadOptions& options, const RewriteSink* sink)
    : trace_(trace),
      options_(options),
      sink_(sink),
      reader_(options.needs),
      assembly_(trace, options.needs) {}

void EventWriter::add(const WrittenEvent& event) {
  text_ = event.is_instant ? R"({"ph":"i","cat":)" : R"({"ph":"X","cat":)";
  append_json_string(event.category == Category::kOther && !event.category_text.empty()
                         ? event.category_text
                         : kSpellings[static_cast<std::size_t>(event.category)],
                     text_);
  text_ += ",\"name\":";
  append_json_string(event.name, text_);
  append_place(event.place, text_);
  text_ += ",\"ts\":";
  append_time(event.start_ns, text_);
  if (!event.is_instant) {
    text_ += ",\"dur\":";
    append_time(event.duration_ns, text_);
  }
  if (!event.arguments.empty()) {
    text_ += ",\"args\":{";
    text_ += event.arguments;
    if (sink_ != nullptr && !event.stack_json.empty()) {
      text_ += ",\"Call stack\":";
      text_ += event.stack_json;
    }
    text_ += '}';
  }
  text_ += '}';
  take_text(event.offset, event.stack_json);
}

void EventWriter::name_process(std::string_view pid, std::string_view name, std::string_view labels) {
  const auto say = [&](std::string_view what, std::string_view key, std::string_view value) {
    text_ = R"({"ph":"M","name":")";
    text_ += what;
    text_ += '"';
    append_place({pid, "0"}, text_);
    text_ += ",\"args\":{";
    JsonMembers arguments;
    arguments.add(key, value);
    text_ += arguments.text();
    text_ += "}}";
    take_text(0);
  };
  if (!name.empty()) say("process_name", "name", name);
  if (!labels.empty()) say("process_labels", "labels", labels);
}

void EventWriter::name_thread(Place place, std::string_view name) {
  text_ = R"({"ph":"M","name":"thread_name")";
  append_place(place, text_);
  text_ += ",\"args\":{\"name\":";
  append_json_string(name, text_);
  text_ += "}}";
  take_text(0);
}

void EventWriter::take_text(std::uint64_t offset, std::string_view stack_json) {
  tokens_.clear();
  const std::size_t size = text_.size();
  text_.append(kPadding, '\0');
  const Scan scan = scan_value(std::string_view(text_).substr(0, size), 0, tokens_);
  Walk walk{text_.data(), tokens_.data()};
  const std::size_t allocations = batch_.memory.size();
  if (scan.end == Scan::End::kComplete) {
    walk = sink_ != nullptr ? rewriter_.read(walk, offset, batch_) : reader_.read(walk, offset, batch_);
  } else {
    walk = {};
  }
  if (walk.at == nullptr) skip(offset, "an event whose arguments make no sense");
  if (batch_.memory.size() > allocations && !stack_json.empty()) reader_.add_stack(stack_json, batch_);
  if (batch_.seen >= kBatch) flush();
}

void EventWriter::member(std::string_view key, std::string_view json, std::uint64_t offset) {
  if (sink_ != nullptr) sink_->member(key, json);
  read_metadata(key, json, offset, trace_);
}

void EventWriter::count_unneeded(std::uint64_t count) {
  batch_.seen += count;
  batch_.skipped_by_need += count;
}

void EventWriter::count_without_columns(std::uint64_t count) {
  batch_.seen += count;
  batch_.without_columns += count;
}

void EventWriter::cut_off(std::uint64_t offset, std::string what) {
  trace_.is_complete = false;
  batch_.add_problem(offset, std::move(what));
}

void EventWriter::progress(std::uint64_t done, std::uint64_t size) {
  if (options_.is_cancelled && options_.is_cancelled()) throw Error("interrupted");
  if (options_.progress) options_.progress(done, size);
}

void EventWriter::flush() {
  reader_.explain(batch_);
  assembly_.append(batch_, known_);
  if (!batch_.rewritten.empty()) sink_->events(batch_.rewritten);
  batch_.clear();
}

void EventWriter::finish(std::uint64_t bytes) {
  flush();
  assembly_.finish();
  trace_.json_bytes = bytes;
}

}  // namespace headroom::trace::readers
