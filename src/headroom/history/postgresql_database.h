// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "headroom/history/database.h"
#include "headroom/history/store.h"

namespace headroom {

/// A history in the schema `headroom` of a PostgreSQL database, by URL as libpq reads it. The schema is made
/// where it is missing, unless it is only to be read; one that is not ours, or newer, is refused.
std::unique_ptr<Database> open_postgresql(const std::string& url, StoreAccess access);

}  // namespace headroom
