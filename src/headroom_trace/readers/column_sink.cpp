// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <concepts>
#include <type_traits>
#include <variant>

#include "headroom_trace/json/strict_json.h"
#include "headroom_trace/readers/event_reader.h"
#include "headroom_trace/readers/event_sink.h"

namespace headroom::trace::readers {
namespace {

/// Pads short text to eight bytes.
std::string_view readable(std::string_view text, std::array<char, 8>& room) {
  return text.size() < room.size() ? std::string_view(room.data(), text.copy(room.data(), text.size()))
                                   : text;
}

class TypedValues {
 public:
  /// The last of repeated arguments counts.
  void read(const EventArguments& arguments, ArgumentMask wanted, std::uint64_t offset) {
    arguments_ = &arguments;
    begin(offset);
    for (const EventArguments::One& one : arguments.all()) {
      if (one.column == Argument::kCount || (wanted & mask_of(one.column)) == 0) continue;
      values_[static_cast<unsigned>(one.column)] = &one;
      present_ |= mask_of(one.column);
      if (present_ == wanted) break;
    }
  }

  void begin(std::uint64_t offset) {
    offset_ = offset;
    present_ = 0;
  }

  bool has(Argument argument) const { return (present_ & mask_of(argument)) != 0; }
  bool has_text(Argument argument) const { return has(argument) && !spelling(argument).empty(); }

  template <typename Number>
  void take(Argument argument, Number& number) const {
    if (!has(argument)) return;
    std::visit(
        [&](const auto& value) {
          using Value = std::decay_t<decltype(value)>;
          if constexpr (std::integral<Value>) {
            number = static_cast<Number>(value);
          } else if constexpr (std::floating_point<Value>) {
            const bool fits = std::floating_point<Number> ? std::isfinite(value) : std::abs(value) < 0x1p63;
            if (fits) number = static_cast<Number>(value);
          } else if constexpr (!std::same_as<Value, EventArguments::Extent>) {
            take_text(arguments_->text(of(argument)), number);
          }
        },
        of(argument).value);
  }

  NameId text(std::string_view text, Batch& batch) {
    const NameId id = tables_.texts.intern(readable(text, room_));
    if (tables_.texts.is_dirty(id)) {
      std::string json;
      append_json_string(json, text, JsonText::kAsIs);
      batch.add_problem(offset_,
                        fmt::format("a string with an invalid escape or invalid UTF-8: {}", shown(json)));
    }
    return id;
  }
  NameId text(Argument argument, Batch& batch) { return text(spelling(argument), batch); }

  NameId json(Argument argument, Batch& batch) {
    json_.clear();
    arguments_->append_json(of(argument), json_);
    const NameId id = tables_.json.intern(readable(json_, room_));
    if (tables_.json.is_dirty(id)) {
      batch.add_problem(offset_, fmt::format("an argument with invalid UTF-8: {}", shown(json_)));
    }
    return id;
  }

  /// Ignores the sign, as in text.
  void extent(Argument argument, std::uint32_t (&size)[3]) const {
    if (!has(argument)) return;
    if (std::holds_alternative<EventArguments::Json>(of(argument).value))
      return read_extent(arguments_->text(of(argument)), size);
    const auto* const given = std::get_if<EventArguments::Extent>(&of(argument).value);
    for (std::size_t i = 0; given != nullptr && i < given->size(); ++i) {
      const std::int64_t one = (*given)[i];
      const std::uint64_t number =
          one < 0 ? 0 - static_cast<std::uint64_t>(one) : static_cast<std::uint64_t>(one);
      if (std::in_range<std::uint32_t>(number)) size[i] = static_cast<std::uint32_t>(number);
    }
  }

  std::uint32_t thread(Place place) {
    return tables_.threads.intern(readable(place.pid, room_), readable(place.tid, room_of_tid_));
  }

  void flush_tables(Batch& batch) {
    tables_.texts.take_new(batch.new_texts);
    tables_.json.take_new(batch.new_json);
    tables_.threads.take_new(batch.new_threads);
  }

 private:
  const EventArguments::One& of(Argument argument) const { return *values_[static_cast<unsigned>(argument)]; }

  template <typename Number>
  static void take_text(std::string_view text, Number& number) {
    if constexpr (std::integral<Number>) {
      if (const auto whole = parse_integer(text)) number = static_cast<Number>(*whole);
    } else {
      if (const auto real = parse_real(text)) number = static_cast<Number>(*real);
    }
  }

  /// Text as it is, other values as JSON.
  std::string spelling(Argument argument) const {
    const EventArguments::One& one = of(argument);
    if (std::holds_alternative<EventArguments::Text>(one.value)) return std::string(arguments_->text(one));
    std::string json;
    arguments_->append_json(one, json);
    return clean_text(without_quotes(json)).text;
  }

  LocalTables tables_{LocalNames::Form::kPlain};
  const EventArguments* arguments_ = nullptr;
  std::uint64_t offset_ = 0;
  ArgumentMask present_ = 0;
  std::array<const EventArguments::One*, static_cast<std::size_t>(Argument::kCount)> values_{};
  std::string json_;
  std::array<char, 8> room_{}, room_of_tid_{};
};

class ColumnSink final : public EventSink {
 public:
  ColumnSink(Trace& trace, const ReadOptions& options) : EventSink(trace, options, options.needs) {}

  void member(std::string_view key, const Json& value, std::uint64_t offset) override {
    take_metadata(key, value, offset, trace_);
  }
  void json_member(std::string_view key, std::string_view json, std::uint64_t offset) override {
    read_metadata(key, json, offset, trace_);
  }

 protected:
  void take(const TypedEvent& event) override {
    if (event.is_allocation) return take_allocation(event);
    values_.read(event.arguments, arguments_of(event.category, needs_), event.offset);
    const auto row = static_cast<std::uint32_t>(batch_.events.size());
    EventRow one{.start_ns = event.start_ns, .duration_ns = event.duration_ns, .category = event.category};
    values_.take(Argument::kCorrelation, one.correlation);
    one.name = values_.text(event.name, batch_);
    one.thread = values_.thread(event.place);
    one.detail = add_detail(event.category, needs_, values_, row, batch_);
    batch_.events.push_back(one);
  }

  void take_name(NameEvent::What what, Place place, std::string_view name) override {
    values_.begin(0);
    ++batch_.without_columns;
    batch_.name_events.push_back({what, values_.thread(place), values_.text(name, batch_)});
  }

  void complete() override { values_.flush_tables(batch_); }

 private:
  void take_allocation(const TypedEvent& event) {
    values_.read(event.arguments, kMemoryArguments, event.offset);
    add_memory_event({.at_ns = event.start_ns, .thread = values_.thread(event.place)}, values_, batch_);
    if (!event.stack.empty()) batch_.memory.back().stack = values_.text(event.stack, batch_);
  }

  TypedValues values_;
};

}  // namespace

std::unique_ptr<EventSink> column_sink(Trace& trace, const ReadOptions& options) {
  return std::make_unique<ColumnSink>(trace, options);
}

}  // namespace headroom::trace::readers
