// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "headroom/base/json_codec.h"
#include "headroom/base/json_stream.h"
#include "headroom/record/record.h"

namespace headroom::record_json {

/// A record as it stands in a headroom file, and the index of its environment there.
struct StreamedRecord {
  Record record;
  std::optional<std::size_t> environment;
};

/// Takes one record from the stream. `where` is its path in errors. Throws Error.
StreamedRecord read_record(JsonStream& stream, const std::string& where);

/// Takes a whole headroom file; `source` names it. Throws Error.
std::vector<Record> read_records(JsonStream& stream, const std::string& source);

}  // namespace headroom::record_json
