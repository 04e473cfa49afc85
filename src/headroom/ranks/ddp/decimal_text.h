// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/base/json_stream.h"
#include "headroom/ranks/ddp/decimal_sample.h"

namespace headroom {

/// Takes an array of numbers from the stream and adds them to the sample. Throws Error where one is no
/// number.
void read_numbers(JsonStream& stream, DecimalSample& sample);

}  // namespace headroom
