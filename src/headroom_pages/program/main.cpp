// SPDX-License-Identifier: Apache-2.0
#include "headroom/console/program.h"
#include "headroom/results/record_files.h"
#include "headroom_pages/program/pages.h"

namespace headroom::cli {
namespace {

constexpr Command kCommands[] = {
    {"report", "write results as a page for a browser: one file, with charts and tables to search and sort",
     report_options},
    {"serve", "serve the history and running measurements to a browser on this machine", serve_options},
    {"site", "write the history as pages to a folder: headroom history --site", site_options},
};

}  // namespace
}  // namespace headroom::cli

int main(int argc, char** argv) {
  using namespace headroom::cli;
  return program_main("headroom-pages", kCommands, add_run_candidates, argc, argv);
}
