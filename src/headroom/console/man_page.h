// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "headroom/console/command.h"

namespace headroom::cli {

/// A man page (roff, section 1) of a command, of the table that makes its --help.
std::string man_page(const Command& command);

/// The man page of headroom itself, which lists its commands.
std::string man_page(std::span<const Command> commands);

}  // namespace headroom::cli
