// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>

#include "headroom/base/text.h"
#include "headroom_trace/columns/trace_facts.h"
#include "headroom_trace/json/strict_json.h"
#include "headroom_trace/readers/event_sink.h"

namespace headroom::trace::readers {
namespace {

/// Kineto's spelling, in the order of Category.
constexpr std::array<std::string_view, 12> kCategoryTexts{
    "kernel",      "gpu_memcpy", "gpu_memset",      "gpu_user_annotation", "cuda_sync", "cuda_runtime",
    "cuda_driver", "cpu_op",     "user_annotation", "python_function",     "overhead",  "other"};
static_assert(kCategoryTexts.size() == static_cast<std::size_t>(Category::kOther) + 1);

class ChromeJsonSink final : public EventSink {
 public:
  ChromeJsonSink(Trace& trace, const ReadOptions& options, const RewriteSink& sink)
      : EventSink(trace, options, Needs::kAll), sink_(sink), remap_(sink.remap), text_(batch_.rewritten) {}

  void member(std::string_view key, const Json& value, std::uint64_t offset) override {
    json_member(key, dump_json(value), offset);
  }
  void json_member(std::string_view key, std::string_view json, std::uint64_t offset) override {
    sink_.member(key, json);
    read_metadata(key, json, offset, trace_);
  }

 protected:
  void take(const TypedEvent& event) override {
    const std::int64_t start_ns = event.start_ns + (remap_ == nullptr ? 0 : remap_->shift_ns);
    if (start_ns > kMaxNs || start_ns < -kMaxNs) return skip_time(event);
    text_ += event.is_allocation ? R"({"ph":"i","ts":)" : R"({"ph":"X","ts":)";
    append_microseconds(start_ns, text_);
    if (!event.is_allocation) {
      text_ += ",\"dur\":";
      append_microseconds(event.duration_ns, text_);
    }
    if (remap_ != nullptr) append_process(*remap_, event.place.pid, {}, batch_);
    text_ += ",\"cat\":";
    add_text(event.category == Category::kOther && !event.category_text.empty()
                 ? event.category_text
                 : kCategoryTexts[static_cast<std::size_t>(event.category)]);
    text_ += ",\"name\":";
    // Tools expect PyTorch's step names.
    if (event.name.starts_with(kStepNumName)) {
      add_text(std::string(kStepName).append(event.name.substr(kStepNumName.size())));
    } else {
      add_text(event.name);
    }
    add_place(event.place);
    if (!event.arguments.empty() || !event.stack.empty()) add_arguments(event);
    text_ += "},\n";
  }

  void take_name(NameEvent::What what, Place place, std::string_view name) override {
    const bool is_label = what == NameEvent::What::kLabels;
    const bool is_name = what == NameEvent::What::kProcess;
    text_ += R"({"ph":"M")";
    if (remap_ != nullptr) append_process(*remap_, place.pid, {.pid = {}, .is_named = is_name}, batch_);
    text_ += ",\"name\":";
    text_ += is_label ? "\"process_labels\"" : is_name ? "\"process_name\"" : "\"thread_name\"";
    add_place(place);
    text_ += is_label ? R"(,"args":{"labels":)" : R"(,"args":{"name":)";
    add_text(remap_ != nullptr && is_name ? remapped_process_name(*remap_, name) : name);
    text_ += "}},\n";
  }

  void complete() override {
    if (!batch_.processes.empty()) sink_.processes(batch_.processes);
    if (!text_.empty()) sink_.events(text_);
  }

 private:
  void add_text(std::string_view text) { append_json_string(text_, text); }

  void add_id(std::string_view text) {
    if (const auto number = to_integer(text); number && std::to_string(*number) == text) {
      text_ += text;
    } else {
      add_text(text);
    }
  }

  void add_place(Place place) {
    if (remap_ == nullptr) {
      text_ += ",\"pid\":";
      add_id(place.pid);
    }
    text_ += ",\"tid\":";
    add_id(place.tid);
  }

  std::optional<std::int64_t> marked(std::string_view name, std::string_view value) const {
    return remap_ == nullptr ? std::nullopt : remapped_argument(*remap_, name, value);
  }

  void add_arguments(const TypedEvent& event) {
    text_ += ",\"args\":";
    char before = '{';
    const auto add_name = [&](std::string_view name) {
      text_ += before;
      add_text(name);
      text_ += ':';
      before = ',';
    };
    bool has_device = false;
    for (const EventArguments::One& one : event.arguments.all()) {
      const std::string_view name = event.arguments.name(one);
      has_device = has_device || one.column == Argument::kDevice;
      add_name(name);
      const std::size_t at = text_.size();
      if (std::holds_alternative<EventArguments::Text>(one.value)) {
        add_text(event.arguments.text(one));
      } else if (std::holds_alternative<EventArguments::Json>(one.value)) {
        text_ += clean_json(event.arguments.text(one));
      } else {
        event.arguments.append_json(one, text_);
      }
      if (const auto moved = marked(name, std::string_view(text_).substr(at)))
        text_.replace(at, text_.npos, std::to_string(*moved));
    }
    // Process ids, which stood for missing devices, were renumbered.
    const auto device =
        has_device || !is_gpu_work(event.category) ? std::nullopt : marked("device", event.place.pid);
    if (device) {
      add_name("device");
      text_ += std::to_string(*device);
    }
    if (!event.stack.empty()) {
      add_name(spelling_of(Argument::kStack));
      add_text(event.stack);
    }
    text_ += '}';
  }

  const RewriteSink& sink_;
  const RankRemap* const remap_;
  std::string& text_;
};

}  // namespace

std::unique_ptr<EventSink> chrome_json_sink(Trace& trace, const ReadOptions& options,
                                            const RewriteSink& out) {
  return std::make_unique<ChromeJsonSink>(trace, options, out);
}

}  // namespace headroom::trace::readers
