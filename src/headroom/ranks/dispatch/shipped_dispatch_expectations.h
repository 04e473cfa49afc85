// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace headroom {

/// The text of data/dispatch_pytorch.toml, put into the library at build time.
extern const std::string_view kShippedDispatchExpectations;

}  // namespace headroom
