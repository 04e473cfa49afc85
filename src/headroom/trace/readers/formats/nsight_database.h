// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/trace/readers/byte_source.h"

struct sqlite3;
struct sqlite3_stmt;

namespace headroom::trace::readers {

/// A database of SQLite that somebody gave us: it is read and never written, and nothing in it is run.
class NsightDatabase {
 public:
  /// Throws Error where it is none, or damaged.
  explicit NsightDatabase(const std::filesystem::path& path);
  /// Of a file that is packed, or in memory: all of it.
  explicit NsightDatabase(ByteSource& bytes);

  bool has_table(std::string_view table) const;
  const std::vector<std::string>& tables() const { return tables_; }

  /// The rows of a table, column by column in the order asked for; those that the table lacks are null.
  class Rows {
   public:
    Rows(const NsightDatabase& database, const std::string& table,
         const std::vector<std::string_view>& columns);
    /// False at the end, and where the database is damaged: damage() says how.
    bool next();
    const std::string& damage() const { return damage_; }

    bool is_null(int column) const;
    std::int64_t whole(int column, std::int64_t absent = -1) const;
    /// Good until next().
    std::string_view text(int column) const;

   private:
    struct Finalize {
      void operator()(sqlite3_stmt* statement) const;
    };
    sqlite3* database_;
    std::unique_ptr<sqlite3_stmt, Finalize> statement_;
    std::uint64_t left_;  ///< no file has more rows than bytes
    std::string damage_;
  };

 private:
  void prepare();
  void read_tables();

  struct Close {
    void operator()(sqlite3* database) const;
  };
  std::string bytes_;  ///< of one in memory
  std::unique_ptr<sqlite3, Close> database_;
  std::uint64_t size_ = 0;
  std::vector<std::string> tables_;
};

}  // namespace headroom::trace::readers
