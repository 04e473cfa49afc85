// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cli/shared/command.h"

namespace headroom::cli {

/// A man page (roff, section 1) of a command, of the table that makes its --help.
std::string man_page(const Command& command);

/// That of headroom itself.
std::string man_page();

}  // namespace headroom::cli
