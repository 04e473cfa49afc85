// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace headroom {

// Where a user's programs keep files: XDG Base Directory Specification 0.8. None of them is made here; all
// throw Error where neither the variable nor HOME is set.

/// What the user wants to keep: $XDG_DATA_HOME/headroom, else ~/.local/share/headroom.
std::filesystem::path user_data_folder();

/// What can be made again: $XDG_CACHE_HOME/headroom, else ~/.cache/headroom.
std::filesystem::path user_cache_folder();

/// What lasts from one start to the next: $XDG_STATE_HOME/headroom, else ~/.local/state/headroom.
std::filesystem::path user_state_folder();

}  // namespace headroom
