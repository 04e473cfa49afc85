// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/formats/perfetto_values.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "headroom/trace/readers/json_members.h"
#include "headroom/trace/readers/json_repair.h"
#include "headroom/trace/readers/wire.h"

namespace headroom::trace::readers {
namespace {

// DebugAnnotation.
constexpr std::uint32_t kNameNumber = 1, kBool = 2, kUnsigned = 3, kSigned = 4, kDouble = 5, kText = 6,
                        kPointer = 7, kNested = 8, kJson = 9, kName = 10, kEntries = 11, kElements = 12,
                        kTextNumber = 17;
// Its NestedValue, from before annotations nested themselves.
constexpr std::uint32_t kNestedType = 1, kDictKey = 2, kDictValue = 3, kElement = 4, kNestedWhole = 5,
                        kNestedReal = 6, kNestedBool = 7, kNestedText = 8;

/// Deeper than this nobody nests arguments.
constexpr int kDeepest = 32;

std::string_view text_of(const PerfettoSequence::Texts& texts, std::uint64_t number) {
  const auto found = texts.find(number);
  return found == texts.end() ? std::string_view{} : std::string_view(found->second);
}

std::string quoted(std::string_view text) {
  std::string json;
  append_json_string(text, json);
  return json;
}

std::string number(double real) {
  return std::isfinite(real) ? fmt::format("{}", real) : "null";
}

void append(std::string& list, std::string_view json) {
  if (!list.empty()) list += ',';
  list += json;
}

/// What stands there if it is JSON, else as text.
std::string checked(std::string_view json) {
  JsonMembers members;
  return members.add_members(fmt::format("\"v\":{}", json)) ? members.text().substr(4) : quoted(json);
}

std::string nested_json(std::string_view bytes, int depth) {
  if (depth > kDeepest) return "null";
  std::vector<std::string_view> keys;
  std::string elements, members, value = "null";
  std::uint64_t type = 0;
  std::size_t entry = 0;
  WireMessage message(bytes);
  for (WireField field; message.next(field);) {
    if (field.is_varint(kNestedType)) type = field.value;
    if (field.is_bytes(kDictKey)) keys.push_back(field.bytes);
    if (field.is_bytes(kElement)) append(elements, nested_json(field.bytes, depth + 1));
    if (field.is_varint(kNestedWhole)) value = std::to_string(field.whole());
    if (field.is(kNestedReal, WireType::kFixed64)) value = number(field.real());
    if (field.is_varint(kNestedBool)) value = field.value != 0 ? "true" : "false";
    if (field.is_bytes(kNestedText)) value = quoted(field.bytes);
  }
  WireMessage again(bytes);
  for (WireField field; again.next(field);) {
    if (field.is_bytes(kDictValue) && entry < keys.size())
      append(members, quoted(keys[entry++]) + ':' + nested_json(field.bytes, depth + 1));
  }
  constexpr std::uint64_t kDict = 1, kArray = 2;
  return type == kDict ? '{' + members + '}' : type == kArray ? '[' + elements + ']' : value;
}

std::string json_of(std::string_view annotation, const PerfettoSequence& sequence, int depth) {
  if (depth > kDeepest) return "null";
  std::string value, elements, members;
  bool is_array = false, is_dict = false;
  WireMessage message(annotation);
  for (WireField field; message.next(field);) {
    if (field.is_varint(kBool)) value = field.value != 0 ? "true" : "false";
    if (field.is_varint(kUnsigned) || field.is_varint(kPointer)) value = std::to_string(field.value);
    if (field.is_varint(kSigned)) value = std::to_string(field.whole());
    if (field.is(kDouble, WireType::kFixed64)) value = number(field.real());
    if (field.is_bytes(kText)) value = quoted(field.bytes);
    if (field.is_varint(kTextNumber)) value = quoted(text_of(sequence.annotation_texts, field.value));
    if (field.is_bytes(kJson)) value = checked(field.bytes);
    if (field.is_bytes(kNested)) value = nested_json(field.bytes, depth + 1);
    if (field.is_bytes(kElements)) {
      is_array = true;
      const std::string element = json_of(field.bytes, sequence, depth + 1);
      append(elements, element.empty() ? "null" : element);
    } else if (field.is_bytes(kEntries)) {
      is_dict = true;
      const std::string member = json_of(field.bytes, sequence, depth + 1);
      append(members,
             quoted(annotation_name(field.bytes, sequence)) + ':' + (member.empty() ? "null" : member));
    }
  }
  return is_dict ? '{' + members + '}' : is_array ? '[' + elements + ']' : value;
}

}  // namespace

std::string_view annotation_name(std::string_view annotation, const PerfettoSequence& sequence) {
  std::string_view name;
  WireMessage message(annotation);
  for (WireField field; message.next(field);) {
    if (field.is_varint(kNameNumber)) name = text_of(sequence.annotation_names, field.value);
    if (field.is_bytes(kName)) name = field.bytes;
  }
  return name;
}

std::string_view annotation_text(std::string_view annotation, const PerfettoSequence& sequence) {
  std::string_view text;
  WireMessage message(annotation);
  for (WireField field; message.next(field);) {
    if (field.is_bytes(kText)) text = field.bytes;
    if (field.is_varint(kTextNumber)) text = text_of(sequence.annotation_texts, field.value);
  }
  return text;
}

std::string annotation_json(std::string_view annotation, const PerfettoSequence& sequence) {
  // What converts Chrome's JSON makes a text of a list: it is one again.
  const std::string_view text = annotation_text(annotation, sequence);
  if (text.starts_with('[') && text.ends_with(']')) return checked(text);
  return json_of(annotation, sequence, 0);
}

}  // namespace headroom::trace::readers
