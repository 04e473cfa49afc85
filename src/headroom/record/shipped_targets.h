// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace headroom {

/// The text of data/targets.toml, put into the library at build time so that a program needs no data folder.
extern const std::string_view kShippedTargets;

}  // namespace headroom
