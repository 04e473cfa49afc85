// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>

#include "headroom/history/database.h"
#include "headroom/history/store.h"

namespace headroom {

/// A history in a file. A file that is missing or empty becomes one, unless it is only to be read; one that
/// holds anything else, or a newer history, is refused before a byte of it is changed. What was committed
/// survives a kill and a power failure. Writers wait for each other, readers wait for nobody.
std::unique_ptr<Database> open_sqlite(const std::filesystem::path& path, StoreAccess access);

}  // namespace headroom
