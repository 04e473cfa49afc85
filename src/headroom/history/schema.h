// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headroom {

/// Version of the tables below; stored in the table headroom_store.
inline constexpr std::int64_t kStoreSchema = 1;

/// How one kind of database spells what the others spell otherwise.
struct SqlDialect {
  const char* new_id;  ///< a key that the database gives, never again after a row was deleted
  const char* blob;
};

/// The statements that make the tables in an empty database and note the schema version.
std::vector<std::string> schema_statements(const SqlDialect& dialect);

/// Throws Error unless this program can read and write a store of that schema version.
void require_known_schema(std::int64_t version, const std::string& database);

/// Throws the Error of a database that holds something else.
[[noreturn]] void refuse_foreign_database(const std::string& database, const std::string& what_it_holds);

}  // namespace headroom
