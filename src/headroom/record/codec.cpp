// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/codec.h"

#include <fmt/format.h>

#include <algorithm>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/record/environment_json.h"
#include "headroom/record/json_fields.h"
#include "headroom/record/record_json.h"

namespace headroom {
namespace {

using EnvironmentPointer = std::shared_ptr<const Environment>;

/// A JSON array with each element on a line of its own: a record can be found with grep, and a file with one
/// record more differs by one line.
std::string array_text(const std::vector<Json>& elements) {
  std::string text = "[";
  for (std::size_t i = 0; i < elements.size(); ++i) {
    text += (i == 0 ? "\n" : ",\n") + dump_json(elements[i]);
  }
  return text + "]";
}

int read_schema(const Json& document, const std::string& source) {
  if (!document.is_object() || !document.contains("headroom")) {
    throw Error(source +
                ": not a headroom file: it has no \"headroom\" member; write one with 'headroom run --json'");
  }
  const std::string where = source + ": /headroom";
  const Json& header = document["headroom"];
  const int schema = record_json::read_whole<int>(json_member(header, "schema", where), where + "/schema");
  if (schema > kRecordSchema) {
    throw Error(
        fmt::format("{}: written in schema {} by headroom {}; this headroom reads schemas up to {}; use a "
                    "newer one",
                    source, schema, json_string_or(header, "version", "(unknown)", where), kRecordSchema));
  }
  if (schema < 1) throw Error(fmt::format("{}/schema: {} is not a schema; the first is 1", where, schema));
  return schema;
}

EnvironmentPointer environment_of(const Json& record, const std::vector<EnvironmentPointer>& environments,
                                  const std::string& where) {
  const Json* index = record_json::optional_member(record, "environment", where);
  if (index == nullptr) return nullptr;
  const auto at = record_json::read_whole<std::size_t>(*index, where + "/environment");
  if (at >= environments.size()) {
    record_json::refuse(where, "environment",
                        fmt::format("is {} where the file has {} environments", at, environments.size()));
  }
  return environments[at];
}

}  // namespace

std::string to_json_text(const std::vector<Record>& records) {
  std::vector<const Environment*> known;
  std::vector<Json> environments, written;
  for (const Record& record : records) {
    Json json = record_json::write_record(record);
    if (record.environment) {
      auto found = std::find(known.begin(), known.end(), record.environment.get());
      if (found == known.end()) {
        found = known.insert(known.end(), record.environment.get());
        environments.push_back(record_json::write_environment(*record.environment));
      }
      json["environment"] = found - known.begin();
    }
    written.push_back(std::move(json));
  }
  const Json header{{"schema", kRecordSchema}, {"version", HEADROOM_VERSION}};
  return fmt::format("{{\"headroom\": {},\n\"environments\": {},\n\"records\": {}}}\n", dump_json(header),
                     array_text(environments), array_text(written));
}

std::vector<Record> records_from_json_text(std::string_view text, const std::string& source) {
  const Json document = parse_json(text, source);
  read_schema(document, source);
  const std::string root = source + ": ";

  std::vector<EnvironmentPointer> environments;
  if (document.contains("environments")) {
    for (const Json& environment : json_array(document, "environments", root)) {
      environments.push_back(std::make_shared<Environment>(record_json::read_environment_json(
          environment, fmt::format("{}/environments/{}", root, environments.size()))));
    }
  }
  std::vector<Record> records;
  for (const Json& object : json_array(document, "records", root)) {
    const std::string where = fmt::format("{}/records/{}", root, records.size());
    Record record = record_json::read_record(object, where);
    record.environment = environment_of(object, environments, where);
    records.push_back(std::move(record));
  }
  return records;
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
  return direction == Direction::kLowerIsBetter ? "lower" : "higher";
}

}  // namespace headroom
