// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "headroom/console/command.h"

namespace headroom::cli {

std::string man_page(const Command& command);

std::string man_page(std::span<const Command> commands);

}  // namespace headroom::cli
