// SPDX-License-Identifier: Apache-2.0
// main() of a runner that includes `headroom run` (headroom::standalone).

#include "cli/commands.h"
#include "headroom/console/option_table.h"
#include "headroom/console/program.h"
#include "headroom/runner/runner_main.h"

int main(int argc, char** argv) {
  using namespace headroom;
  const auto from_shell = [](const auto& self, const auto& arguments) {
    cli::Arguments all{"--runner", self.string()};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return static_cast<int>(cli::run_options(all).run(all));
  };
  return cli::exit_code_of([&] { return static_cast<ExitCode>(runner_main(argc, argv, from_shell)); });
}
