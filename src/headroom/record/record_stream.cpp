// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/record_stream.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/json_codec.h"
#include "headroom/record/codec.h"
#include "headroom/record/environment_json.h"
#include "headroom/record/record_json.h"
#include "headroom/record/samples_stream.h"

namespace headroom::record_json {
namespace {

/// The records of a file, one after another: only one is held as a JSON value at a time, and its samples
/// never are.
class FileReader {
 public:
  FileReader(JsonStream& stream, const std::string& source)
      : stream_(stream), source_(source), root_(source + ": ") {}

  std::vector<Record> read() {
    if (stream_.peek() == '{') {
      stream_.members([this](const std::string& key) { read_member(key); });
    } else {
      stream_.skip_value();
    }
    stream_.finish();
    if (!has_header_) {
      throw Error(
          source_ +
          ": not a headroom file: it has no \"headroom\" member; write one with 'headroom run --json'");
    }
    if (!has_records_) throw Error(root_ + "/records: missing; expected an array");
    return with_environments();
  }

 private:
  void read_member(const std::string& key) {
    if (key == "headroom") {
      check_schema(stream_.value());
      has_header_ = true;
    } else if (key == "environments") {
      require_array(key);
      environments_.clear();
      stream_.elements([this] {
        const std::string where = fmt::format("{}/environments/{}", root_, environments_.size());
        environments_.push_back(
            std::make_shared<Environment>(json_to<Environment>(stream_.value(), JsonPath(where))));
      });
    } else if (key == "records") {
      require_array(key);
      has_records_ = true;
      records_.clear();
      places_.clear();
      stream_.elements([this] {
        StreamedRecord read = read_record(stream_, fmt::format("{}/records/{}", root_, records_.size()));
        records_.push_back(std::move(read.record));
        places_.push_back(read.environment);
      });
    } else {
      stream_.skip_value();
    }
  }

  void require_array(const std::string& key) {
    if (stream_.peek() != '[') throw Error(fmt::format("{}/{}: expected an array", root_, key));
  }

  void check_schema(const Json& header) const {
    const std::string where = root_ + "/headroom";
    const int schema = json_member_as<int>(header, "schema", where);
    if (schema > kRecordSchema) {
      throw Error(
          fmt::format("{}: written in schema {} by headroom {}; this headroom reads schemas up to {}; use a "
                      "newer one",
                      source_, schema, json_string_or(header, "version", "(unknown)", where), kRecordSchema));
    }
    if (schema < 1) {
      throw Error(fmt::format("{}/schema: {} is not a schema; the first is 1", where, schema));
    }
  }

  std::vector<Record> with_environments() {
    for (std::size_t i = 0; i < records_.size(); ++i) {
      if (!places_[i]) continue;
      const std::size_t place = *places_[i];
      if (place >= environments_.size()) {
        throw Error(fmt::format("{}/records/{}/environment: is {} where the file has {} environments", root_,
                                i, place, environments_.size()));
      }
      records_[i].environment = environments_[place];
    }
    return std::move(records_);
  }

  JsonStream& stream_;
  const std::string& source_;
  std::string root_;
  std::vector<std::shared_ptr<const Environment>> environments_;
  std::vector<Record> records_;
  std::vector<std::optional<std::size_t>> places_;  ///< the environment of each; it may stand behind them
  bool has_header_ = false, has_records_ = false;
};

}  // namespace

StreamedRecord read_record(JsonStream& stream, const std::string& where) {
  if (stream.peek() != '{') throw Error(where + ": expected an object");
  Json rest = Json::object();
  std::vector<ProcessSamples> samples;
  stream.members([&](const std::string& key) {
    if (key == "samples" && stream.peek() != 'n') {
      samples = read_samples(stream, where);
    } else {
      rest[key] = stream.value();
    }
  });
  StreamedRecord result{read_record(rest, where), std::nullopt};
  result.record.samples = std::move(samples);
  result.environment = json_member_or<std::optional<std::size_t>>(rest, "environment", std::nullopt, where);
  return result;
}

std::vector<Record> read_records(JsonStream& stream, const std::string& source) {
  return FileReader(stream, source).read();
}

}  // namespace headroom::record_json
