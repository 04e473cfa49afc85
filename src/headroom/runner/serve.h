// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headroom/experiment/registry.h"
#include "headroom/process/channel.h"

namespace headroom {

/// The socket that a command line handed down (kSocketVariable), removed from the environment so that
/// children of this process do not take it for theirs. Nothing when there is none. Throws Error when it is
/// not a descriptor.
std::optional<Channel> inherited_channel();

/// Serves `registry` as runner `name` over `channel` until it closes or says quit: executes, decides nothing.
/// Requests that it does not understand are answered with {"error": reason}; so is the command line, in place
/// of a greeting, where the registry misses what it requires or cannot take its `arguments`; and a case whose
/// failure the process does not survive (Registry::end_where_lost_with), after which this returns.
/// The process ends with the one that started it.
void serve(Channel channel, Registry& registry, const std::string& name,
           const std::vector<std::string>& arguments = {});

/// The same in a process that lives for something else, and goes on when the other end is gone.
void converse(Channel channel, Registry& registry, const std::string& name,
              const std::vector<std::string>& arguments = {});

}  // namespace headroom
