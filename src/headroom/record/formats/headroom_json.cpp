// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <unordered_map>

#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/record/formats.h"
#include "headroom/record/formats/file_outline.h"
#include "headroom/record/record_json.h"

namespace headroom {
namespace {

/// Adds an array element on its own line, so that grep finds records and a new record changes one line.
void add_line(std::string& array, const Json& element) {
  array += (array.size() == 1 ? "\n" : ",\n") + dump_json(element);
}

std::string write_headroom_json(const std::vector<Record>& records, std::string_view, const std::string&) {
  return to_json_text(records);
}

/// "headroom" is our first member. Other programs may have changed the whitespace.
bool is_headroom_json(const FileOutline& outline) {
  return outline.starts_with_object() && outline.has("headroom");
}

std::vector<Record> read_headroom_json(const PaddedText& text, const std::string& source) {
  return records_from_json_text(text, source);
}

}  // namespace

std::string to_json_text(const std::vector<Record>& records) {
  std::unordered_map<const Environment*, std::size_t> known;
  std::string environments = "[", written = "[";
  for (const Record& record : records) {
    Json json = record_json::write_record(record);
    if (record.environment) {
      const auto [found, is_new] = known.emplace(record.environment.get(), known.size());
      if (is_new) add_line(environments, json_of(*record.environment));
      json["environment"] = found->second;
    }
    add_line(written, json);
  }
  const Json header{{"schema", kRecordSchema}, {"version", HEADROOM_VERSION}};
  return fmt::format("{{\"headroom\": {},\n\"environments\": {}],\n\"records\": {}]}}\n", dump_json(header),
                     environments, written);
}

std::vector<Record> records_from_json_text(const PaddedText& text, const std::string& source) {
  JsonStream stream(text, source);
  return record_json::read_records(stream, source);
}

std::vector<Record> records_from_json_text(std::string_view text, const std::string& source) {
  return records_from_json_text(PaddedText(text), source);
}

std::vector<Record> records_from_json_file(const std::filesystem::path& path) {
  JsonStream stream(path);
  return record_json::read_records(stream, path.string());
}

const char* to_string(StopReason reason) {
  switch (reason) {
    case StopReason::kNone:
      return "none";
    case StopReason::kPrecision:
      return "precision";
    case StopReason::kMaxTime:
      return "max-time";
    case StopReason::kMaxSamples:
      return "max-samples";
    case StopReason::kInterrupted:
      return "interrupted";
    case StopReason::kRunnerLost:
      return "runner-lost";
  }
  return "none";
}

const char* to_string(Outcome::Kind kind) {
  switch (kind) {
    case Outcome::Kind::kMeasured:
      return "measured";
    case Outcome::Kind::kSkipped:
      return "skipped";
    case Outcome::Kind::kFailed:
      return "failed";
  }
  return "failed";
}

const char* to_string(Direction direction) {
  switch (direction) {
    case Direction::kLowerIsBetter:
      return "lower";
    case Direction::kHigherIsBetter:
      return "higher";
    case Direction::kUnknown:
      break;
  }
  return "unknown";
}

/// Our own format, with everything in a record, all samples included (docs/record-format.md). Read and
/// written.
Format headroom_json_format() {
  return {.name = "headroom-json",
          .summary = "everything about every record, all samples included",
          .endings = {".json"},
          .write = write_headroom_json,
          .recognises = is_headroom_json,
          .read = read_headroom_json,
          .read_file = records_from_json_file};
}

}  // namespace headroom
