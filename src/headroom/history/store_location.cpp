// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/base/user_folders.h"
#include "headroom/history/outbox.h"
#include "headroom/history/postgresql_database.h"
#include "headroom/history/sqlite_database.h"
#include "headroom/history/store.h"

namespace headroom {

std::unique_ptr<Store> open_store(const std::string& url_or_path, StoreAccess access) {
  constexpr std::string_view kSqlite = "sqlite:";
  if (is_remote(url_or_path)) {
    return std::make_unique<Store>(open_postgresql(url_or_path, access));
  }
  const std::string path =
      url_or_path.starts_with(kSqlite) ? url_or_path.substr(kSqlite.size()) : url_or_path;
  if (const std::size_t scheme = path.find("://"); scheme != std::string::npos) {
    throw Error("no kind of history " + in_quotes(path.substr(0, scheme)) +
                "; give a file, or a database as postgresql://USER@HOST/NAME");
  }
  if (path.empty()) throw Error("an empty name for the history; give a file or postgresql://USER@HOST/NAME");
  return std::make_unique<Store>(open_sqlite(path, access));
}

std::string default_store() {
  const char* place = std::getenv("HEADROOM_STORE");
  if (place != nullptr && place[0] != '\0') return place;
  return (user_data_folder() / "history.sqlite").string();
}

}  // namespace headroom
