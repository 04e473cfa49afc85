// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/base/json.h"
#include "headroom/experiment/device_description.h"

namespace headroom {

/// A device as it stands in a runner's answer to "describe" (protocol.h). What is not told is left out.
Json to_json(const DeviceDescription& device);
/// Throws Error naming the member that is of another type.
DeviceDescription device_from_json(const Json& json);

}  // namespace headroom
