// SPDX-License-Identifier: Apache-2.0
// XLA profiles (JAX, TensorFlow, PyTorch/XLA): xplane.pb, an XSpace of tsl/profiler/protobuf/xplane.proto.
// Read twice: name tables follow the events.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <unordered_map>
#include <vector>

#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom_trace/bytes/wire.h"
#include "headroom_trace/columns/trace_facts.h"
#include "headroom_trace/formats/formats.h"
#include "headroom_trace/json/json_text.h"

namespace headroom::trace::readers {
namespace {

// XSpace, XPlane, XLine, XEvent, XStat, table entries.
constexpr std::uint32_t kPlane = 1;
constexpr std::uint32_t kPlaneName = 2, kLine = 3, kEventNames = 4, kStatNames = 5, kPlaneStat = 6;
constexpr std::uint32_t kLineId = 1, kLineName = 2, kLineStart = 3, kEvent = 4, kLineShownName = 11;
constexpr std::uint32_t kEventNameId = 1, kOffset = 2, kDuration = 3, kStat = 4, kOccurrences = 5;
constexpr std::uint32_t kStatName = 1, kStatDouble = 2, kStatUnsigned = 3, kStatSigned = 4, kStatText = 5,
                        kStatReference = 7;
constexpr std::uint32_t kEntryValue = 2, kEntryKey = 1, kName = 2, kShownName = 4;

struct Line {
  std::int64_t id = 0, start_ns = 0;
  std::string name;
};

struct Plane {
  std::string name;
  std::vector<Line> lines;
  std::unordered_map<std::int64_t, std::string> event_names, stat_names;
  std::vector<std::string> stats;  ///< unparsed
};

struct Stat {
  std::string_view name;
  std::optional<std::int64_t> whole;
  std::string_view text;
};

Stat stat_of(std::string_view bytes, const Plane& plane) {
  Stat stat;
  const auto name_of = [&](std::int64_t id) {
    const auto found = plane.stat_names.find(id);
    return found == plane.stat_names.end() ? std::string_view{} : std::string_view(found->second);
  };
  WireMessage message(bytes);
  for (WireField field; message.next(field);) {
    if (field.is_varint(kStatName)) stat.name = name_of(field.whole());
    if (field.is_varint(kStatUnsigned) || field.is_varint(kStatSigned)) stat.whole = field.whole();
    if (field.is(kStatDouble, WireType::kFixed64) && field.real() >= -1e18 && field.real() <= 1e18)
      stat.whole = static_cast<std::int64_t>(field.real());
    if (field.is_bytes(kStatText)) stat.text = field.bytes;
    if (field.is_varint(kStatReference)) stat.text = name_of(field.whole());
  }
  return stat;
}

/// "regs:32 grid:1,1,1 block:256,1,1".
std::array<std::int64_t, 3> numbers_after(std::string_view details, std::string_view key) {
  std::array<std::int64_t, 3> numbers{-1, -1, -1};
  std::size_t at = details.find(key);
  if (at == details.npos || (at > 0 && details[at - 1] != ' ')) return numbers;
  const char* from = details.data() + at + key.size();
  const char* const end = details.data() + details.size();
  for (std::int64_t& number : numbers) {
    const auto [stop, error] = std::from_chars(from, end, number);
    if (error != std::errc{} || stop == end || *stop != ',') break;
    from = stop + 1;
  }
  return numbers;
}

struct Device {
  std::int64_t number = -1;  ///< -1: a host plane
  bool is_tpu = false;
};

Device device_of_plane(std::string_view name) {
  Device device;
  for (const std::string_view prefix : {"/device:GPU:", "/device:TPU:"}) {
    const std::size_t at = name.find(prefix);
    if (at == name.npos) continue;
    const char* const digits = name.data() + at + prefix.size();
    std::from_chars(digits, name.data() + name.size(), device.number);
    device.is_tpu = prefix == "/device:TPU:";
  }
  return device;
}

class XplaneReader {
 public:
  XplaneReader(FormatInput& input, EventSink& events) : input_(input), events_(events) {}

  void read() {
    std::string all;
    if (!input_.again) {
      for (std::string block(std::size_t{1} << 18, '\0');;) {
        const std::size_t got = input_.bytes.read(block.data(), block.size());
        if (got == 0) break;
        all.append(block, 0, got);
      }
      read_space(*memory_source(all), Pass::kNames);
      read_space(*memory_source(all), Pass::kEvents);
      return;
    }
    read_space(*input_.again(), Pass::kNames);
    read_space(input_.bytes, Pass::kEvents);
  }

 private:
  enum class Pass { kNames, kEvents };
  void read_space(ByteSource& source, Pass pass);
  /// False if the file ends or breaks before `end`.
  bool read_plane(WireStream& stream, std::uint64_t end, Pass pass) {
    if (pass == Pass::kNames) planes_.emplace_back();
    if (plane_ >= planes_.size()) return stream.pass(end - stream.offset());
    Plane& plane = planes_[plane_];
    std::size_t line = 0;
    if (pass == Pass::kEvents) describe(plane);
    for (WireField field;;) {
      const std::uint64_t at = stream.offset();
      const WireStream::Next next = stream.next(field, end);
      if (next == WireStream::Next::kOver) return at == end;
      if (next != WireStream::Next::kField) return pass == Pass::kEvents ? report_problem(next, at) : false;
      if (field.type != WireType::kBytes) continue;
      const std::uint64_t end_of_field = stream.offset() + field.value;
      bool is_whole = true;
      if (field.number == kLine && pass == Pass::kNames) {
        is_whole = read_line(stream, end_of_field, plane.lines.emplace_back());
      } else if (field.number == kLine) {
        is_whole = line < plane.lines.size() && read_events(stream, end_of_field, plane.lines[line++]);
      } else if (pass == Pass::kNames && (field.number == kEventNames || field.number == kStatNames)) {
        is_whole = read_entry(stream, end_of_field,
                              field.number == kEventNames ? plane.event_names : plane.stat_names);
      } else if (pass == Pass::kNames && (field.number == kPlaneName || field.number == kPlaneStat)) {
        const auto bytes = stream.take(field.value);
        is_whole = bytes.has_value();
        if (bytes && field.number == kPlaneName) plane.name = *bytes;
        if (bytes && field.number == kPlaneStat) plane.stats.emplace_back(*bytes);
      } else {
        is_whole = stream.pass(field.value);
      }
      if (!is_whole) return false;
    }
  }

  bool read_line(WireStream& stream, std::uint64_t end, Line& line) {
    std::string shown;
    for (WireField field;;) {
      const WireStream::Next next = stream.next(field, end);
      if (next == WireStream::Next::kOver) break;
      if (next != WireStream::Next::kField) return false;
      if (field.is_varint(kLineId)) line.id = field.whole();
      if (field.is_varint(kLineStart)) line.start_ns = field.whole();
      if (field.type != WireType::kBytes) continue;
      if (field.number != kLineName && field.number != kLineShownName) {
        if (!stream.pass(field.value)) return false;
        continue;
      }
      const auto bytes = stream.take(field.value);
      if (!bytes) return false;
      (field.number == kLineName ? line.name : shown) = *bytes;
    }
    if (!shown.empty()) line.name = shown;
    line.start_ns = std::clamp(line.start_ns, -kMaxNs, kMaxNs);
    return true;
  }

  bool read_events(WireStream& stream, std::uint64_t end, const Line& line) {
    for (WireField field;;) {
      const std::uint64_t at = stream.offset();
      const WireStream::Next next = stream.next(field, end);
      if (next == WireStream::Next::kOver) return true;
      if (next != WireStream::Next::kField) return report_problem(next, at);
      if (field.type != WireType::kBytes) continue;
      if (field.number != kEvent) {
        if (!stream.pass(field.value)) return false;
        continue;
      }
      const auto bytes = stream.take(field.value);
      if (!bytes) {
        if (field.value <= WireStream::kLargest) return false;
        events_.skip(at, "an event of more than 256 MiB");
        if (!stream.pass(field.value)) return false;
        continue;
      }
      add_event(*bytes, line, at);
    }
  }

  /// Skips attached programs (HLO).
  bool read_entry(WireStream& stream, std::uint64_t end,
                  std::unordered_map<std::int64_t, std::string>& names) {
    std::int64_t key = 0;
    std::string name, shown;
    for (WireField field;;) {
      WireStream::Next next = stream.next(field, end);
      if (next == WireStream::Next::kOver) break;
      if (next != WireStream::Next::kField) return false;
      if (field.is_varint(kEntryKey)) key = field.whole();
      if (field.type != WireType::kBytes) continue;
      const std::uint64_t end_of_value = stream.offset() + field.value;
      if (field.number != kEntryValue) {
        if (!stream.pass(field.value)) return false;
        continue;
      }
      for (WireField member; (next = stream.next(member, end_of_value)) == WireStream::Next::kField;) {
        if (member.type != WireType::kBytes) continue;
        if (member.number != kName && member.number != kShownName) {
          if (!stream.pass(member.value)) return false;
          continue;
        }
        const auto bytes = stream.take(member.value);
        if (!bytes) return false;
        (member.number == kName ? name : shown) = *bytes;
      }
      if (next != WireStream::Next::kOver) return false;
    }
    names[key] = shown.empty() ? std::move(name) : std::move(shown);
    return true;
  }

  /// Reports once; always returns false.
  bool report_problem(WireStream::Next next, std::uint64_t at) {
    is_done_ = true;
    events_.cut_off(at, next == WireStream::Next::kCutOff
                            ? "the file ends inside a plane"
                            : "expected a field; the rest of the file cannot be read");
    return false;
  }
  void add_event(std::string_view bytes, const Line& line, std::uint64_t offset);

  void take_stats(std::string_view event, const Plane& plane) {
    arguments_.clear();
    step_ = std::nullopt;
    has_correlation_ = is_copy_ = is_set_ = false;
    WireMessage message(event);
    for (WireField field; message.next(field);) {
      if (!field.is_bytes(kStat)) continue;
      const Stat stat = stat_of(field.bytes, plane);
      if (stat.name.empty()) continue;
      if (stat.name == "correlation_id" && stat.whole) {
        has_correlation_ = true;
        arguments_.add(Argument::kCorrelation, *stat.whole);
        continue;
      }
      if (stat.name == "step_num") step_ = stat.whole;
      if (stat.name == "kernel_details") {
        const auto grid = numbers_after(stat.text, "grid:"), block = numbers_after(stat.text, "block:");
        if (grid[2] >= 0) arguments_.add(Argument::kGrid, grid);
        if (block[2] >= 0) arguments_.add(Argument::kBlock, block);
        if (const auto registers = numbers_after(stat.text, "regs:")[0]; registers >= 0)
          arguments_.add(Argument::kRegisters, registers);
        if (const auto occupancy = numbers_after(stat.text, "occ_pct:")[0]; occupancy >= 0)
          arguments_.add(Argument::kOccupancy, occupancy);
      }
      is_copy_ = is_copy_ || stat.name == "memcpy_details";
      is_set_ = is_set_ || stat.name == "memset_details";
      if (stat.name == "memcpy_details" || stat.name == "memset_details") {
        const auto size = numbers_after(stat.text, stat.name == "memcpy_details" ? "size:" : "num_bytes:")[0];
        if (size >= 0) arguments_.add(Argument::kBytes, size);
      }
      if (stat.whole) {
        arguments_.add(stat.name, *stat.whole);
      } else {
        arguments_.add(stat.name, stat.text);
      }
    }
  }

  Category category_of_event(std::string_view name, const Line& line) const {
    if (device_.number >= 0) {
      const bool is_work = device_.is_tpu ? line.name == "XLA Ops" || line.name == "XLA Async Ops"
                                          : contains(line.name, "Stream #");
      if (!is_work) return Category::kGpuAnnotation;
      if (is_copy_ || name.starts_with("Memcpy")) return Category::kGpuMemcpy;
      return is_set_ || name.starts_with("Memset") ? Category::kGpuMemset : Category::kKernel;
    }
    if (has_correlation_) {
      const bool is_driver = name.starts_with("cu") && !name.starts_with("cuda");
      return is_driver ? Category::kDriver : Category::kRuntime;
    }
    if (step_) return Category::kUserAnnotation;
    return name.starts_with('$') ? Category::kPython : Category::kCpuOp;
  }

  void describe(const Plane& plane) {
    device_ = device_of_plane(plane.name);
    if (plane.lines.empty()) return;
    events_.name_process(plane.name, plane.name,
                         device_.number < 0 ? "CPU" : fmt::format("GPU {}", device_.number));
    for (const Line& line : plane.lines)
      if (!line.name.empty()) events_.name_thread({plane.name, std::to_string(line.id)}, line.name);
  }

  void describe_devices() {
    Json list = Json::array();
    for (const Plane& plane : planes_) {
      const Device of = device_of_plane(plane.name);
      if (of.number < 0) continue;
      Json device = {{"id", of.number}};
      for (const std::string& bytes : plane.stats) {
        const Stat stat = stat_of(bytes, plane);
        if (stat.name == "device_type_string") device["name"] = stat.text;
        if (stat.name == "memory_size" && stat.whole) device["totalGlobalMem"] = *stat.whole;
        if (stat.name == "core_count" && stat.whole) device["numSms"] = *stat.whole;
      }
      list.push_back(std::move(device));
    }
    if (!list.empty()) events_.member("deviceProperties", list, 0);
  }

  FormatInput& input_;
  EventSink& events_;
  std::vector<Plane> planes_;
  std::size_t plane_ = 0;
  Device device_;
  bool is_done_ = false;
  EventArguments arguments_;
  std::optional<std::int64_t> step_;
  bool has_correlation_ = false, is_copy_ = false, is_set_ = false;
};

void XplaneReader::read_space(ByteSource& source, Pass pass) {
  WireStream stream(source);
  plane_ = 0;
  is_done_ = false;
  if (pass == Pass::kEvents) describe_devices();
  while (!is_done_) {
    const std::uint64_t at = stream.offset();
    WireField field;
    const WireStream::Next next = stream.next(field);
    if (next == WireStream::Next::kOver) break;
    if (next != WireStream::Next::kField) {
      if (pass == Pass::kEvents) report_problem(next, at);
      break;
    }
    if (field.type != WireType::kBytes) continue;
    const std::uint64_t end = stream.offset() + field.value;
    const bool is_whole = field.number == kPlane ? read_plane(stream, end, pass) : stream.pass(field.value);
    if (!is_whole) {
      if (pass == Pass::kEvents && !is_done_) report_problem(WireStream::Next::kCutOff, stream.offset());
      break;
    }
    if (field.number == kPlane) ++plane_;
    events_.progress(source.done(), source.size());
  }
  if (pass == Pass::kEvents) events_.finish(stream.offset());
}

void XplaneReader::add_event(std::string_view bytes, const Line& line, std::uint64_t offset) {
  constexpr std::int64_t kPicoseconds = 1000;
  const Plane& plane = planes_[plane_];
  std::int64_t name_number = 0, offset_ps = 0, duration_ps = 0;
  bool is_count = false;
  WireMessage message(bytes);
  for (WireField field; message.next(field);) {
    if (field.is_varint(kEventNameId)) name_number = field.whole();
    if (field.is_varint(kOffset)) offset_ps = field.whole();
    if (field.is_varint(kDuration)) duration_ps = field.whole();
    is_count = is_count || field.is_varint(kOccurrences);
  }
  if (!message.is_whole()) return events_.skip(offset, "an event with invalid fields");
  if (is_count) return events_.count_without_columns();
  constexpr std::int64_t kMost = INT64_MAX / 2;
  if (offset_ps < -kMost || offset_ps > kMost || duration_ps < 0 || duration_ps > kMost)
    return events_.skip(offset, "its time is out of range");
  take_stats(bytes, plane);
  const auto named = plane.event_names.find(name_number);
  std::string name = named == plane.event_names.end() ? std::string() : named->second;
  if (named == plane.event_names.end()) events_.problem(offset, "an event whose name is not in the file");
  const Category category = category_of_event(name, line);
  if (!events_.wants(category)) return events_.count_unneeded();
  if (step_ && category == Category::kUserAnnotation) {
    arguments_.add("name", name);
    name = fmt::format("{}{}", kStepNumName, *step_);
  }
  if (device_.number >= 0) {
    arguments_.add(Argument::kDevice, device_.number);
    if (const std::size_t at = line.name.find("Stream #"); at != line.name.npos) {
      std::int64_t stream = -1;
      std::from_chars(line.name.data() + at + 8, line.name.data() + line.name.size(), stream);
      arguments_.add(Argument::kStream, stream);
    } else {
      arguments_.add(Argument::kStream, line.id);
    }
  }
  const std::int64_t start = offset_ps / kPicoseconds, end = (offset_ps + duration_ps) / kPicoseconds;
  events_.add({.category = category,
               .name = name,
               .place = {plane.name, std::to_string(line.id)},
               .start_ns = line.start_ns + start,
               .duration_ns = end - start,
               .arguments = arguments_,
               .offset = offset});
}

/// The first field must be a plane: fields 1 to 6, a number and a printable name.
bool is_xplane(std::string_view first) {
  if (!first.starts_with('\n')) return false;
  const auto* const end_of_length =
      std::ranges::find_if(first.substr(1), [](char c) { return (c & 0x80) == 0; });
  const auto start = static_cast<std::size_t>(end_of_length - first.data()) + 1;
  if (start > first.size() || start > 11) return false;
  WireField file;
  WireMessage whole(first);
  WireMessage plane(whole.next(file) ? file.bytes : first.substr(start));
  bool has_name = false;
  for (WireField field; plane.next(field);) {
    if (field.number > kPlaneStat || (field.number == 1) != (field.type == WireType::kVarint)) return false;
    if (field.is_bytes(kPlaneName)) {
      has_name = !field.bytes.empty() && is_readable(field.bytes);
      if (!has_name) return false;
    }
  }
  return has_name;
}

void read_xplane(FormatInput& input, EventSink& events) {
  XplaneReader(input, events).read();
}

}  // namespace

namespace format {

extern const FileFormat xplane{"an XSpace of XLA's profiler (xplane.pb)", is_xplane, read_xplane,
                               Writer::kJax};

}  // namespace format
}  // namespace headroom::trace::readers
