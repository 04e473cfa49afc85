// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/schedule/session.h"

namespace headroom::cli {

class OptionTable;

/// --peer PATH:SYMBOL[,name=NAME][,dtype=bf16|int8][,threads=own]: functions of shared libraries, each a
/// backend of headroom-native.
void declare_peer_options(OptionTable& table, std::vector<std::string>& peers);

/// Adds the backends of `peers` to those that are asked for: without any beside "native". Throws Error: one
/// that is no PATH:SYMBOL, a file that is missing.
void select_peers(const std::vector<std::string>& peers, Selection& selection);

/// The backends by which runners are found: those of peers are headroom-native's.
std::vector<std::string> backends_of_runners(const std::vector<std::string>& peers,
                                             std::vector<std::string> backends);

/// Whether the program at `path` loads peers: headroom-native, of whatever build.
bool takes_peers(const std::string& path);

/// Adds them, with their paths in full, to what headroom-native is started with.
void add_peer_arguments(const std::vector<std::string>& peers, std::vector<std::string>& arguments);

/// Throws Error where there are peers and none of the runners (paths) takes them.
void require_peers_taken(const std::vector<std::string>& peers, const std::vector<std::string>& runners);

}  // namespace headroom::cli
