// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom/compare/verdict.h"
#include "headroom/console/option_table.h"
#include "headroom/console/output.h"
#include "headroom_pages/site/site.h"
#include "headroom/history/store.h"
#include "headroom_pages/program/pages.h"

namespace headroom::cli {

ExitCode site(const Arguments& arguments) {
  std::string folder, json, store, min_magnitude = "0";
  OptionTable table("Writes the history as pages for a browser.", "headroom-pages site");
  table.add_option("FOLDER", folder, "a new folder, or one that holds such a site").required();
  table.add_option("--min-magnitude", min_magnitude, "leave out changes of less than this share");
  table.add_option("--json", json, "also write what was done to this file ('-': to standard output, and nothing else)");
  table.add_option("--store", store, "file, or postgresql://USER@HOST/NAME");
  table.add_no_follow();
  if (const auto done = parse_arguments(table, arguments)) return *done;
  const double least = parse_margin(min_magnitude);
  if (!json.empty() && json != "-") require_writable(json);
  const auto history = open_store(store.empty() ? default_store() : store, StoreAccess::kRead);
  const SiteResult result = write_site(*history, folder, least);
  if (!json.empty()) {
    const Json what{{"site", folder},
                    {"series", result.series},
                    {"written", result.written},
                    {"removed", result.removed}};
    write_file_atomically(json == "-" ? "/dev/stdout" : json, dump_json_pretty(what) + "\n");
    if (json == "-") return ExitCode::kFine;
  }
  const auto pages = [](std::size_t count) { return fmt::format("{} page{}", count, count == 1 ? "" : "s"); };
  print_text(fmt::format("{} series in {}/index.html: {} written, {} removed\n", result.series, folder,
                         pages(result.written), pages(result.removed)),
             stdout);
  return ExitCode::kFine;
}

}  // namespace headroom::cli
