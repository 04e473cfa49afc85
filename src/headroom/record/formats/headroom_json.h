// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/record/formats.h"

namespace headroom {

/// Everything that a record holds, all samples included: docs/record-format.md. Written and read.
Format headroom_json_format();

}  // namespace headroom
