// SPDX-License-Identifier: Apache-2.0
#include "headroom/history/site_state.h"

#include <fmt/format.h>

#include <array>
#include <tuple>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom/base/json_codec.h"
#include "headroom/base/text.h"

namespace headroom {

template <>
struct JsonMembers<SiteRange> {
  static constexpr std::tuple kTable{required("low", &SiteRange::low), required("high", &SiteRange::high)};
};

template <>
struct JsonMembers<SiteChange> {
  using C = SiteChange;
  static constexpr std::tuple kTable{required("run", &C::run),
                                     required("time", &C::time),
                                     sparse("commit", &C::commit),
                                     sparse("run_before", &C::run_before),
                                     sparse("commit_before", &C::commit_before),
                                     required("values_since", &C::values_since),
                                     sparse("drifts", &C::drifts),
                                     sparse("ratio", &C::ratio),
                                     sparse("range", &C::range),
                                     sparse("worse", &C::worse),
                                     required("key", &C::key)};
};

template <>
struct JsonMembers<SeriesMark> {
  using M = SeriesMark;
  static constexpr std::tuple kTable{required("series", &M::series),       required("values", &M::values),
                                     required("first_run", &M::first_run), required("last_run", &M::last_run),
                                     required("least", &M::least),         required("most", &M::most)};
};

template <>
struct JsonCodec<StoredSeries> {
  static Json write(const StoredSeries& one) {
    return {{"id", one.id},
            {"identity", one.identity},
            {"fingerprint", one.fingerprint},
            {"unit", one.unit},
            {"name", one.name},
            {"metric", one.metric},
            {"lower_is_better", one.direction == Direction::kLowerIsBetter}};
  }
  static StoredSeries read(const Json& json, const JsonPath& path) {
    const std::string where = path.text();
    StoredSeries one{json_to<std::int64_t>(json_member(json, "id", where), path),
                     json_string(json, "identity", where),
                     json_string(json, "fingerprint", where),
                     json_string(json, "unit", where),
                     json_string(json, "name", where),
                     json_string(json, "metric", where),
                     Direction::kLowerIsBetter};
    if (!json_bool(json, "lower_is_better", where)) one.direction = Direction::kHigherIsBetter;
    return one;
  }
};

template <>
struct JsonMembers<SiteSeries> {
  using S = SiteSeries;
  static constexpr std::tuple kTable{
      required("series", &S::series),         required("mark", &S::mark),
      required("last_time", &S::last_time),   required("level", &S::level),
      sparse("level_range", &S::level_range), required("spark", &S::spark),
      required("changes", &S::changes),       sparse("suspected", &S::suspected)};
};

template <>
struct JsonMembers<SiteState> {
  using S = SiteState;
  static constexpr std::tuple kTable{
      required("headroom", &S::headroom), required("store", &S::store),
      required("feed", &S::feed),         required("least_change", &S::least_change),
      required("assets", &S::assets),     required("series", &S::series)};
};

namespace {

constexpr const char* kStateFile = ".headroom-site.json";
constexpr const char* kMarker = "headroom_site";
constexpr int kVersion = 1;

}  // namespace

std::string SiteSeries::page() const {
  return fmt::format("series/{}.html", series.id);
}

std::optional<SiteState> read_site_state(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / kStateFile;
  std::error_code error;
  if (!std::filesystem::exists(file, error)) {
    // One that was killed while it wrote the first state left a part of it (write_file_atomically); a branch
    // that pages are published from begins with .git alone.
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
      const std::string name = entry.path().filename().string();
      if (name == ".git" || (name.starts_with(".headroom-") && name.ends_with(".tmp"))) continue;
      throw Error(in_quotes(folder.string()) +
                  " is not empty and no site of headroom; it was left as it was: name a new or empty folder");
    }
    if (error) throw Error("cannot read the folder " + in_quotes(folder.string()) + ": " + error.message());
    return std::nullopt;
  }
  const std::string name = file.string();
  const std::string advice = "; the folder was left as it was: name a new or empty one with --site";
  try {
    const Json json = parse_json(read_file(file), name);
    if (!json.is_object() || json_to<int>(json_member(json, kMarker, name), JsonPath(name)) != kVersion)
      throw Error(in_quotes(name) + " is of another version of headroom");
    return json_to<SiteState>(json, JsonPath(name));
  } catch (const Error& problem) {
    throw Error(problem.what() + advice);
  }
}

void write_site_state(const std::filesystem::path& folder, const SiteState& state) {
  Json json{{kMarker, kVersion}};
  write_members(state, json);
  write_file_atomically(folder / kStateFile, dump_json(json) + "\n");
}

}  // namespace headroom
