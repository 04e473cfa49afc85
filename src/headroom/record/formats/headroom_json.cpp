// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <optional>
#include <unordered_map>
#include <utility>

#include "headroom/base/json.h"
#include "headroom/files/json_stream.h"
#include "headroom/record/formats.h"
#include "headroom/record/formats/file_outline.h"
#include "headroom/record/record_json.h"

namespace headroom {
namespace {

std::string header_text() {
  const Json header{{"schema", kRecordSchema}, {"version", HEADROOM_VERSION}};
  return fmt::format("{{\"headroom\": {},\n\"environments\": [", dump_json(header));
}
constexpr const char* kBetween = "],\n\"records\": [";
constexpr const char* kEnd = "]}\n";

/// An array element on its own line, so that grep finds records and a new record changes one line.
std::string line_of(const Json& element, bool is_first) {
  return (is_first ? "\n" : ",\n") + dump_json(element);
}

std::string line_of(const Record& record, std::optional<std::size_t> environment, bool is_first) {
  Json json = record_json::write_record(record);
  if (environment) json["environment"] = *environment;
  return line_of(json, is_first);
}

std::string write_headroom_json(const std::vector<Record>& records, std::string_view, const std::string&) {
  return to_json_text(records);
}

/// Other programs may have changed the whitespace.
bool is_headroom_json(const FileOutline& outline) {
  return outline.starts_with_object() && outline.has("headroom");
}

std::vector<Record> read_headroom_json(const PaddedText& text, const std::string& source) {
  return records_from_json_text(text, source);
}

}  // namespace

std::string to_json_text(const std::vector<Record>& records) {
  std::unordered_map<const Environment*, std::size_t> known;
  std::string environments, written;
  for (const Record& record : records) {
    std::optional<std::size_t> environment;
    if (record.environment) {
      const auto [found, is_new] = known.emplace(record.environment.get(), known.size());
      if (is_new) environments += line_of(json_of(*record.environment), environments.empty());
      environment = found->second;
    }
    written += line_of(record, environment, written.empty());
  }
  return header_text() + environments + kBetween + written + kEnd;
}

void write_json_text(std::size_t runs, const std::function<Environment(std::size_t)>& environment_of,
                     const std::function<std::vector<Record>(std::size_t)>& records_of,
                     const std::function<void(std::string_view)>& write) {
  write(header_text());
  for (std::size_t run = 0; run < runs; ++run) write(line_of(json_of(environment_of(run)), run == 0));
  write(kBetween);
  bool is_first = true;
  for (std::size_t run = 0; run < runs; ++run) {
    for (const Record& record : records_of(run)) write(line_of(record, run, std::exchange(is_first, false)));
  }
  write(kEnd);
}

std::vector<Record> records_from_json_text(const PaddedText& text, const std::string& source) {
  JsonReader stream(text.view(), source);
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
  static constexpr const char* kNames[] = {"none",        "precision",   "max-time",
                                           "max-samples", "interrupted", "runner-lost"};
  return kNames[static_cast<std::size_t>(reason)];
}

const char* to_string(Outcome::Kind kind) {
  static constexpr const char* kNames[] = {"measured", "skipped", "failed"};
  return kNames[static_cast<std::size_t>(kind)];
}

const char* to_string(Direction direction) {
  static constexpr const char* kNames[] = {"lower", "higher", "unknown"};
  return kNames[static_cast<std::size_t>(direction)];
}

/// The complete record, samples included (docs/reference/record-format.md). Read and written.
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
