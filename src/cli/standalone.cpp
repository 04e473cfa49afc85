// SPDX-License-Identifier: Apache-2.0
// main() of a runner that includes `headroom run` (headroom::standalone).

#include "cli/commands.h"
#include "headroom/console/program.h"
#include "headroom/runner/runner_main.h"

int main(int argc, char** argv) {
  using namespace headroom::cli;
  return exit_code_of([&] {
    return static_cast<ExitCode>(headroom::runner_main(argc, argv, [](const auto& self, const auto& arguments) {
      Arguments all{"--runner", self.string()};
      all.insert(all.end(), arguments.begin(), arguments.end());
      return static_cast<int>(run(all));
    }));
  });
}
