// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitset>
#include <string_view>

#include "headroom/base/json_codec.h"
#include "headroom/base/json_stream.h"
#include "headroom/record/record.h"

namespace headroom::record_json {

/// The record as it stands in a headroom file, without its environment.
Json write_record(const Record& record);

/// {"groups": [{"median", "share"}], "changes", "in_stretches"}
Json write_modes(const Modes& modes);

/// Reads a record, all but its samples and its environment, member by member: record_stream.h reads all of
/// it.
class RecordMembers {
 public:
  /// `record` is as it begins, and gets the members.
  explicit RecordMembers(Record& record) : record_(record) {}

  /// Takes the value of `key` from the stream where it is a member of a record and written plainly. Else
  /// nothing is taken, and the value is to be in the `rest` of finish().
  bool take(JsonStream& stream, std::string_view key);
  /// Reads what was not taken. `path` is that of the record in errors. Throws Error.
  void finish(const Json& rest, const JsonPath& path);

 private:
  Record& record_;
  std::bitset<32> taken_;  ///< by the place of a member in the table
};

}  // namespace headroom::record_json
