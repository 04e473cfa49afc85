// SPDX-License-Identifier: Apache-2.0
// main() of every runner
#include "headroom/runner/runner_main.h"

int main(int argc, char** argv) {
  return headroom::runner_main(argc, argv, headroom::exec_engine);
}
