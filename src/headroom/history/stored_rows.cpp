// SPDX-License-Identifier: Apache-2.0
#include "headroom/history/stored_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"

namespace headroom {
namespace {

/// Each step is a bijection of state and word: one changed word always changes the result.
class RowSum {
 public:
  void add(std::uint64_t word) {
    state_ = (state_ ^ word) * 0x9e3779b97f4a7c15U;
    state_ ^= state_ >> 32U;
  }
  void add(std::string_view bytes) {
    add(bytes.size());
    for (std::size_t at = 0; at < bytes.size(); at += 8) {
      std::uint64_t word = 0;
      for (std::size_t i = at; i < std::min(at + 8, bytes.size()); ++i)
        word = word << 8U | static_cast<unsigned char>(bytes[i]);
      add(word);
    }
  }
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0x4844524d;
};

SqlValue whole(std::uint64_t number) {
  return static_cast<std::int64_t>(number);
}

/// Makes text valid for every database: UTF-8 without NUL.
std::string sanitised_text(const std::string& raw) {
  std::string clean = parse_json(dump_json(raw), "text").string();
  std::erase(clean, '\0');
  return clean;
}

std::string series_name(const Record& record, bool is_compared) {
  std::string name = case_name(record);
  for (const std::string& part : {record.model.backend, record.device, record.caches}) {
    if (!part.empty()) name += " " + part;
  }
  if (record.threads > 0) name += fmt::format(" {}t", record.threads);
  if (is_compared) name += " runner=" + record.runner;
  return name;
}

std::string series_identity(const Record& record, const std::string& identity, bool is_compared) {
  if (!is_compared) return identity;
  Json parts = parse_json(identity, "identity");
  parts.push_back(record.runner);
  return dump_json(parts);
}

bool is_value(const SqlValue& a, const SqlValue& b) {
  if (a.index() != b.index()) return false;
  if (const auto* text = std::get_if<std::string>(&a)) return *text == std::get<std::string>(b);
  if (const auto* number = std::get_if<double>(&a)) return *number == std::get<double>(b);
  if (const auto* integer = std::get_if<std::int64_t>(&a)) return *integer == std::get<std::int64_t>(b);
  return std::holds_alternative<std::monostate>(a);
}

std::string shown(const SqlValue& value) {
  const auto* number = std::get_if<std::int64_t>(&value);
  return number != nullptr ? fmt::format("{}", *number) : "without a number";
}

}  // namespace

std::int64_t row_check(std::span<const SqlValue> columns) {
  RowSum sum;
  for (const SqlValue& value : columns) {
    sum.add(std::uint64_t{value.index()});
    if (const auto* text = std::get_if<std::string>(&value)) sum.add(*text);
    if (const auto* blob = std::get_if<Blob>(&value)) sum.add(blob->bytes);
    if (const auto* integer = std::get_if<std::int64_t>(&value))
      sum.add(static_cast<std::uint64_t>(*integer));
    // SQLite stores -0 as 0.
    if (const auto* number = std::get_if<double>(&value))
      sum.add(std::bit_cast<std::uint64_t>(*number + 0.0));
  }
  return static_cast<std::int64_t>(sum.value());
}

void visit_checked_rows(Database& database, const CheckedRows& rows, const std::string& where,
                        const SqlRow& parameters, const std::function<void(const SqlRow&, bool)>& reader) {
  const bool has_checks = database.schema() > 1;
  database.execute(fmt::format("SELECT {}, {} FROM {} {}", rows.columns, has_checks ? rows.check : "NULL",
                               rows.tables, where),
                   parameters, [&](const SqlRow& row) {
                     const std::span<const SqlValue> columns(row.data(), row.size() - 1);
                     const auto* check = std::get_if<std::int64_t>(&row.back());
                     const bool holds =
                         has_checks ? check != nullptr && *check == row_check(columns) : check == nullptr;
                     reader(row, holds);
                   });
}

void read_rows(Database& database, const CheckedRows& rows, const std::string& where,
               const SqlRow& parameters, const std::function<void(const SqlRow&)>& reader) {
  visit_checked_rows(database, rows, where, parameters, [&](const SqlRow& row, bool holds) {
    if (!holds) {
      throw Error(
          fmt::format("the history {}: {} {}: damaged: a row does not match its checksum; headroom history "
                      "verify lists the damage, headroom history repair fixes it",
                      quote(database.name()), rows.what, shown(row.front())));
    }
    reader(row);
  });
}

SqlRow run_row(std::int64_t id, const Environment& environment, std::size_t records,
               const std::string& digest) {
  return {id,
          whole(environment.timestamp),
          sanitised_text(environment.fingerprint),
          sanitised_text(environment.git_sha),
          sanitised_text(environment.git_branch),
          sanitised_text(environment.git_repo),
          sanitised_text(environment.headroom_version),
          sanitised_text(join(environment.command, " ")),
          whole(records),
          digest};
}

SqlRow record_row(const Record& record, const Environment& environment, std::int64_t run,
                  const SqlValue& position, std::int64_t series) {
  const bool measured = record.outcome.kind == Outcome::Kind::kMeasured;
  const bool has_interval = record.interval && std::isfinite(record.interval->low) &&
                            std::isfinite(record.interval->high) && measured;
  const auto of_interval = [&](double Interval::*field) {
    return has_interval ? SqlValue((*record.interval).*field) : SqlValue();
  };
  return {run,
          position,
          series,
          whole(environment.timestamp),
          measured && std::isfinite(record.metric.value) ? SqlValue(record.metric.value) : SqlValue(),
          of_interval(&Interval::low),
          of_interval(&Interval::high),
          of_interval(&Interval::confidence),
          whole(sample_count(record)),
          sanitised_text(environment.git_sha),
          sanitised_text(environment.git_branch),
          sanitised_text(environment.headroom_version)};
}

/// The runner is part of the identity only if several runners of one run measured the quantity, so that a
/// program keeps its history when it moves.
std::vector<SqlRow> series_rows(const std::vector<Record>& records) {
  static const Environment kNone;
  std::map<std::string, std::set<std::string>> runners;
  std::vector<std::string> identities;
  for (const Record& record : records) {
    identities.push_back(identity(record));
    runners[identities.back()].insert(record.runner);
  }
  std::vector<SqlRow> rows;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Record& record = records[i];
    const bool is_compared = runners.at(identities[i]).size() > 1;
    const Environment& environment = record.environment ? *record.environment : kNone;
    rows.push_back({sanitised_text(series_identity(record, identities[i], is_compared)),
                    sanitised_text(environment.fingerprint), sanitised_text(record.metric.unit),
                    sanitised_text(series_name(record, is_compared)), sanitised_text(record.metric.name),
                    lower_column(record.metric.direction)});
  }
  return rows;
}

bool is_row(const SqlRow& stored, SqlRow expected) {
  const bool has_check = std::holds_alternative<std::int64_t>(stored.back());
  expected.push_back(has_check ? SqlValue(row_check(expected)) : SqlValue());
  return std::ranges::equal(stored, expected, is_value);
}

std::int64_t lower_column(Direction direction) {
  if (direction == Direction::kUnknown) return -1;
  return direction == Direction::kLowerIsBetter ? 1 : 0;
}

Direction direction_of_column(std::int64_t lower) {
  if (lower < 0) return Direction::kUnknown;
  return lower > 0 ? Direction::kLowerIsBetter : Direction::kHigherIsBetter;
}

}  // namespace headroom
