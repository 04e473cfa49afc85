// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "headroom/base/json_codec.h"
#include "headroom/base/json_stream.h"
#include "headroom/record/record.h"

namespace headroom::record_json {

/// Takes the `samples` of a record from the stream: their columns, which are nearly all of a large file, go
/// straight into their vectors. `record` is the path of the record in errors. Throws Error.
std::vector<ProcessSamples> read_samples(JsonStream& stream, const JsonPath& record);

}  // namespace headroom::record_json
