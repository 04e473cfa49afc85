// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "headroom/base/json.h"
#include "headroom/record/record.h"

namespace headroom::record_json {

/// The record as it stands in a headroom file, without its environment.
Json write_record(const Record& record);

/// {"groups": [{"median", "share"}], "changes", "in_stretches"}
Json write_modes(const Modes& modes);

/// All but the samples and the environment: record_stream.h reads a record with its samples. `where` is the
/// path of `object` in errors. Throws Error.
Record read_record(const Json& object, const std::string& where);

}  // namespace headroom::record_json
