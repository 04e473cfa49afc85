// SPDX-License-Identifier: Apache-2.0
// main() of a runner with `headroom run` in it: headroom::standalone. Started from a shell, it needs no
// other program.

#include "cli/commands.h"
#include "headroom/console/output.h"
#include "headroom/runner/runner_main.h"

int main(int argc, char** argv) {
  headroom::cli::open_closed_streams();
  return headroom::runner_main(argc, argv, [](const auto& self, const auto& arguments) {
    headroom::cli::Arguments all{"--runner", self.string()};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return static_cast<int>(headroom::cli::after_output(headroom::cli::run(all)));
  });
}
