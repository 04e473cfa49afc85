// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cli/shared/rank_start.h"
#include "headroom/schedule/rank_conversation.h"

namespace headroom::cli {

class OptionTable;

/// --port, --runner and --timeout, of every command whose work is done by ranks.
void declare_rank_start(OptionTable& table, RankStart& start, std::string& timeout);

/// How long ranks may take to start and to answer, from what --timeout said (empty: the default). Throws
/// Error.
RankPatience rank_patience(const std::string& timeout);

}  // namespace headroom::cli
