// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/history/store.h"

namespace headroom {

/// Whether a history is on a server, which may not answer.
bool is_remote(const std::string& store);

/// Writes a run into a file (mode 0600, in the user's data folder) where it waits for its history, and
/// returns the file. Throws Error.
std::string put_into_outbox(const std::vector<Record>& records, const std::string& store);

/// Appends the runs that wait for this history, each once, and removes their files. Returns what is wrong
/// with those that stay, a sentence each. Throws Error where the history cannot be written to.
std::vector<std::string> deliver_outbox(Store& store);

}  // namespace headroom
