// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"
#include "headroom/console/program.h"

int main(int argc, char** argv) {
  using namespace headroom::cli;
  return exit_code_of([&] { return run_headroom({argv + 1, argv + argc}); });
}
