// SPDX-License-Identifier: Apache-2.0
#include "headroom/history/database.h"

#include <fmt/format.h>

#include <optional>

#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom {
namespace {

[[noreturn]] void tell_damage(const std::string& database) {
  throw Error(fmt::format(
      "the history {}: damaged: a row holds something else than was written there; headroom history verify "
      "tells of all, repair mends it",
      in_quotes(database)));
}

}  // namespace

void read_row(const std::string& database, const SqlRow& row,
              const std::function<void(const SqlRow&)>& reader) {
  try {
    reader(row);
  } catch (const std::bad_variant_access&) {
    tell_damage(database);
  } catch (const std::bad_optional_access&) {
    tell_damage(database);
  }
}

}  // namespace headroom
