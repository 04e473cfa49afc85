// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cli/rank_start.h"
#include "headroom/schedule/rank_conversation.h"

namespace CLI {
class App;
}

namespace headroom::cli {

/// --port, --runner and --timeout, of every command whose work is done by ranks.
void declare_rank_start(CLI::App& app, RankStart& start, std::string& timeout);

/// How long ranks may take to start and to answer, from what --timeout said (empty: the default). Throws
/// Error.
RankPatience rank_patience(const std::string& timeout);

}  // namespace headroom::cli
