// SPDX-License-Identifier: Apache-2.0
#include <exception>

#include "cli/commands.h"
#include "headroom/console/output.h"

int main(int argc, char** argv) {
  headroom::cli::open_closed_streams();
  try {
    return static_cast<int>(headroom::cli::after_output(headroom::cli::run_headroom({argv + 1, argv + argc})));
  } catch (const std::exception& error) {
    headroom::cli::say_sentence(error.what());
    return static_cast<int>(headroom::ExitCode::kCannot);
  }
}
