// SPDX-License-Identifier: Apache-2.0
// Chakra execution traces (schema/protobuf/et_def.proto of mlcommons/chakra): length-prefixed messages, first
// the file description, then nodes.

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "headroom_trace/bytes/wire.h"
#include "headroom_trace/formats/formats.h"
#include "headroom_trace/json/json_text.h"
#include "headroom_trace/json/strict_json.h"

namespace headroom::trace::readers {
namespace {

// Node, IOInfo and AttributeProto.
constexpr std::uint32_t kNodeId = 1, kNodeName = 2, kNodeType = 3, kNodeStart = 6, kNodeLength = 7,
                        kNodeInputs = 8, kNodeAttribute = 10;
constexpr std::uint32_t kShapes = 2, kTypes = 3, kValues = 1;
constexpr std::uint32_t kAttributeName = 1, kAttributeBool = 27, kAttributeText = 29;
constexpr std::uint64_t kMetadataNode = 1, kFirstCommunication = 5, kLastCommunication = 7;

struct Attribute {
  std::string_view name, text;
  std::int64_t whole = -1;
};

/// Reads only the name of lists and bytes.
Attribute attribute_of(std::string_view bytes) {
  Attribute attribute;
  WireMessage message(bytes);
  for (WireField field; message.next(field);) {
    if (field.is_bytes(kAttributeName)) attribute.name = field.bytes;
    if (field.is_bytes(kAttributeText)) attribute.text = field.bytes;
    // zigzag
    const bool is_folded = field.number == 15 || field.number == 17;
    if (field.type == WireType::kVarint && field.number >= 7 && field.number <= kAttributeBool)
      attribute.whole =
          is_folded ? static_cast<std::int64_t>(field.value >> 1 ^ (0 - (field.value & 1))) : field.whole();
  }
  return attribute;
}

/// Accepts single quotes; empty if invalid.
std::string json_of_list(std::string_view text) {
  std::string json(text);
  for (char& c : json) c = c == '\'' ? '"' : c;
  return clean_json(json);
}

class ChakraReader {
 public:
  explicit ChakraReader(EventSink& events) : events_(events) {}

  void read(FormatInput& input) {
    WireStream stream(input.bytes);
    constexpr std::uint64_t kReport = 1 << 13;
    for (std::uint64_t count = 0;; ++count) {
      const std::uint64_t at = stream.offset();
      std::uint64_t size = 0;
      const WireStream::Next next = stream.next_varint(size);
      if (next == WireStream::Next::kOver) break;
      const auto bytes = next == WireStream::Next::kField ? stream.take(size) : std::nullopt;
      if (!bytes) {
        events_.cut_off(at, next == WireStream::Next::kBroken || size > WireStream::kLargest
                                ? "expected the length of a node; the rest of the file cannot be read"
                                : "the file ends inside a node");
        break;
      }
      if (count == 0) continue;  // file description
      take_node(*bytes, at);
      if (count % kReport == 0) events_.progress(input.bytes.done(), input.bytes.size());
    }
    events_.finish(stream.offset());
  }

 private:
  void take_node(std::string_view bytes, std::uint64_t offset);

  void take_inputs(std::string_view bytes) {
    WireMessage message(bytes);
    const auto add = [&](Argument of, std::string_view list) {
      if (const std::string json = json_of_list(list); !json.empty()) arguments_.add_json(of, json);
    };
    for (WireField field; message.next(field);) {
      if (field.is_bytes(kShapes)) add(Argument::kDims, field.bytes);
      if (field.is_bytes(kTypes)) add(Argument::kTypes, field.bytes);
      if (field.is_bytes(kValues)) add(Argument::kValues, field.bytes);
    }
  }

  EventSink& events_;
  EventArguments arguments_;
  std::int64_t order_ = 0;
};

void ChakraReader::take_node(std::string_view bytes, std::uint64_t offset) {
  std::string_view name;
  std::uint64_t id = 0, type = 0, start_us = 0, length_us = 0;
  std::int64_t is_cpu = -1, stream = 0;
  arguments_.clear();
  WireMessage message(bytes);
  for (WireField field; message.next(field);) {
    if (field.is_varint(kNodeId)) id = field.value;
    if (field.is_bytes(kNodeName)) name = field.bytes;
    if (field.is_varint(kNodeType)) type = field.value;
    if (field.is_varint(kNodeStart)) start_us = field.value;
    if (field.is_varint(kNodeLength)) length_us = field.value;
    if (field.is_bytes(kNodeInputs)) take_inputs(field.bytes);
    if (!field.is_bytes(kNodeAttribute)) continue;
    const Attribute attribute = attribute_of(field.bytes);
    if (attribute.name == "is_cpu_op") is_cpu = attribute.whole;
    if (attribute.name == "stream") stream = attribute.whole;
    if (attribute.name == "seq_id" && attribute.whole >= 0)
      arguments_.add(Argument::kSequence, attribute.whole);
    if (attribute.name == "pg_name") arguments_.add(Argument::kGroupName, attribute.text);
    if (attribute.name == "comm_size" && attribute.whole >= 0) arguments_.add("comm_size", attribute.whole);
  }
  if (!message.is_whole()) return events_.skip(offset, "a node with invalid fields");
  if (type == kMetadataNode) return events_.count_without_columns();
  constexpr auto kMostUs = static_cast<std::uint64_t>(kMaxNs) / 1000;
  if (start_us > kMostUs || length_us > kMostUs) return events_.skip(offset, "its time is out of range");
  const bool is_collective = type >= kFirstCommunication && type <= kLastCommunication;
  if (is_collective) arguments_.add(Argument::kCollectiveName, name);
  const Category category = is_cpu == 0 && !is_collective ? Category::kKernel : Category::kCpuOp;
  if (!events_.wants(category)) return events_.count_unneeded();
  if (category == Category::kKernel) {
    arguments_.add(Argument::kDevice, 0);
    arguments_.add(Argument::kStream, stream);
  } else {
    arguments_.add(Argument::kExternalId, id);
  }
  const std::string tid = std::to_string(category == Category::kKernel ? stream : 1);
  const bool has_time = start_us > 0 || length_us > 0;
  events_.add({.category = category,
               .name = name,
               .place = {category == Category::kKernel ? "0" : "1", tid},
               .start_ns = has_time ? static_cast<std::int64_t>(start_us * 1000) : order_++,
               .duration_ns = static_cast<std::int64_t>(length_us * 1000),
               .arguments = arguments_,
               .offset = offset});
}

/// Returns nothing if `rest` ends inside the message.
std::optional<std::string_view> take_message(std::string_view& rest) {
  std::uint64_t size = 0;
  for (unsigned shift = 0; shift < 28 && !rest.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(rest.front());
    rest.remove_prefix(1);
    size |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte > 0x7F) continue;
    if (size > rest.size()) return std::nullopt;
    const std::string_view message = rest.substr(0, size);
    rest.remove_prefix(size);
    return message;
  }
  return std::nullopt;
}

/// Requires a name, a type, and only fields of nodes.
bool is_node(std::string_view bytes) {
  WireMessage message(bytes);
  bool has_name = false, has_type = false;
  for (WireField field; message.next(field);) {
    if (field.number == 0 || field.number > kNodeAttribute) return false;
    has_name = has_name || (field.is_bytes(kNodeName) && !field.bytes.empty() && is_readable(field.bytes));
    has_type = has_type || field.is_varint(kNodeType);
  }
  return has_name && has_type && message.is_whole();
}

/// A version ("0.0.4") and attributes; both may be missing before a node.
bool is_chakra(std::string_view first) {
  const auto bytes = take_message(first);
  if (!bytes || first.empty()) return false;
  WireMessage about(*bytes);
  bool has_version = false;
  for (WireField field; about.next(field);) {
    if (field.is_bytes(1) && !has_version &&
        field.bytes.find_first_not_of("0123456789.") == field.bytes.npos) {
      has_version = !field.bytes.empty();
    } else if (!field.is_bytes(2)) {
      return false;
    }
  }
  if (!about.is_whole()) return false;
  if (has_version) return true;
  const auto node = take_message(first);
  return node && is_node(*node);
}

}  // namespace

namespace format {

extern const FileFormat chakra{
    "a Chakra execution trace", is_chakra,
    [](FormatInput& input, EventSink& events) { ChakraReader(events).read(input); }, Writer::kChakra};

}  // namespace format
}  // namespace headroom::trace::readers
