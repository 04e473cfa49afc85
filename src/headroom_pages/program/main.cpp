// SPDX-License-Identifier: Apache-2.0
#include "headroom/console/program.h"
#include "headroom/results/record_files.h"
#include "headroom_pages/program/pages.h"

namespace headroom::cli {
namespace {

constexpr Command kCommands[] = {
    {"report", "results as a page for a browser: one file, with charts and tables to search and sort",
     report},
    {"serve", "the history in a browser of this machine, as it is now, and what is being measured", serve},
    {"site", "the history as pages in a folder: headroom history --site", site},
};

}  // namespace
}  // namespace headroom::cli

int main(int argc, char** argv) {
  using namespace headroom::cli;
  return program_main("headroom-pages", kCommands, add_run_candidates, argc, argv);
}
