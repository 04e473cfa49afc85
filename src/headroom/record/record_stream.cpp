// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/record_stream.h"

#include <fmt/format.h>

#include <algorithm>
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

/// Gives `record`, which is as it begins, what comes next in the stream. What it answers is the place of the
/// environment.
std::optional<std::size_t> read_into(Record& record, JsonStream& stream, const JsonPath& path) {
  if (stream.peek() != '{') path.refuse("expected an object");
  RecordMembers members(record);
  std::optional<std::size_t> environment;
  Json rest = Json::object();
  stream.members([&](const std::string& key) {
    if (key == "samples" && stream.peek() != 'n') {
      record.samples = read_samples(stream, path);
    } else if (key == "environment") {
      environment.reset();
      rest.erase(key);
      if (!stream.take_plainly([&](JsonCursor& cursor) { return json_take(cursor, environment); }))
        rest[key] = stream.value();
    } else if (!members.take(stream, key)) {
      rest[key] = stream.value();
    }
  });
  members.finish(rest, path);
  if (const Json* place = rest.find("environment"))
    environment = json_to<std::optional<std::size_t>>(*place, JsonPath(path, "environment"));
  return environment;
}

/// Records that tell how many a file has.
constexpr std::size_t kEnoughToGuess = 100;

/// The records of a file, one after another: a JSON value is made only of what of one is not written plainly,
/// and never of its samples.
class FileReader {
 public:
  FileReader(JsonStream& stream, const std::string& source)
      : stream_(stream), source_(source), root_(source + ": "), root_path_(root_) {}

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
      const JsonPath path(root_path_, key);
      const std::uint64_t begin = stream_.offset();
      stream_.elements([&] {
        const std::size_t place = records_.size();
        make_room(stream_.offset() - begin);
        places_.push_back(read_into(records_.emplace_back(), stream_, JsonPath(path, place)));
      });
    } else {
      stream_.skip_value();
    }
  }

  /// Room for as many records as the file has if the rest of it is like the first ones, which took that many
  /// bytes: a vector that only doubles holds most of them twice at times, and takes room for more.
  void make_room(std::uint64_t bytes) {
    const std::size_t count = records_.size();
    if (count < kEnoughToGuess || count < records_.capacity() || stream_.size() <= stream_.offset()) return;
    const double left = static_cast<double>(stream_.size() - stream_.offset()) / static_cast<double>(bytes);
    const auto guess = static_cast<std::size_t>((1.01 * left + 1) * static_cast<double>(count));
    // What comes may be quite another kind.
    records_.reserve(std::min(guess, 16 * count));
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
  JsonPath root_path_;
  std::vector<std::shared_ptr<const Environment>> environments_;
  std::vector<Record> records_;
  std::vector<std::optional<std::size_t>> places_;  ///< the environment of each; it may stand behind them
  bool has_header_ = false, has_records_ = false;
};

}  // namespace

StreamedRecord read_record(JsonStream& stream, const std::string& where) {
  StreamedRecord result;
  result.environment = read_into(result.record, stream, JsonPath(where));
  return result;
}

std::vector<Record> read_records(JsonStream& stream, const std::string& source) {
  return FileReader(stream, source).read();
}

}  // namespace headroom::record_json
