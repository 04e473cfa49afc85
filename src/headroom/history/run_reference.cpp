// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <set>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/history/database.h"
#include "headroom/history/store.h"

namespace headroom {
namespace {

std::optional<std::int64_t> first_id(Database& database, const std::string& sql, const SqlRow& parameters) {
  std::optional<std::int64_t> id;
  database.execute(sql, parameters, [&id](const SqlRow& row) {
    if (!id) id = std::get<std::int64_t>(row[0]);
  });
  return id;
}

std::int64_t newest_run(Database& database) {
  const auto id = first_id(database, "SELECT id FROM runs ORDER BY time DESC, id DESC LIMIT 1", {});
  if (!id) throw Error(in_quotes(database.name()) + " holds no run yet; headroom run adds one");
  return *id;
}

std::int64_t newest_run_of_revision(Database& database, const std::string& revision) {
  constexpr std::size_t kShortest = 4;
  if (revision.size() < kShortest) {
    throw Error(
        fmt::format("@git:{} is too short; give at least {} digits of the revision", revision, kShortest));
  }
  std::set<std::string> revisions;
  std::optional<std::int64_t> newest;
  database.execute(
      "SELECT id, git_sha FROM runs WHERE substr(git_sha, 1, length($1)) = $1 ORDER BY time DESC, id DESC",
      {revision}, [&](const SqlRow& row) {
        if (!newest) newest = std::get<std::int64_t>(row[0]);
        revisions.insert(std::get<std::string>(row[1]));
      });
  if (!newest) {
    throw Error(fmt::format("{} holds no run of the git revision {}; headroom history lists its runs",
                            in_quotes(database.name()), in_quotes(revision)));
  }
  if (revisions.size() > 1) {
    throw Error(fmt::format("@git:{} fits {} revisions, {} and {} among them; give more digits", revision,
                            revisions.size(), *revisions.begin(), *revisions.rbegin()));
  }
  return *newest;
}

}  // namespace

std::int64_t Store::find_run(const std::string& reference) {
  constexpr std::string_view kGit = "@git:";
  if (reference == "@last") return newest_run(*database_);
  if (reference.starts_with(kGit)) return newest_run_of_revision(*database_, reference.substr(kGit.size()));
  const std::optional<std::int64_t> id =
      reference.starts_with('@') ? to_integer(std::string_view(reference).substr(1)) : std::nullopt;
  if (!id) {
    throw Error(
        fmt::format("{} names no run: it is @last, @ID as in @12, or @git:REVISION", in_quotes(reference)));
  }
  if (!first_id(*database_, "SELECT id FROM runs WHERE id = $1", {*id})) {
    throw Error(fmt::format("{} holds no run {}; headroom history lists its runs", in_quotes(name()), *id));
  }
  return *id;
}

}  // namespace headroom
