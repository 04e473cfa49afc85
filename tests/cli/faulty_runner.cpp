// SPDX-License-Identifier: Apache-2.0
// A runner with one experiment per way to go wrong, for the tests of the command line.
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

#include "headroom/experiment/registry.h"
#include "headroom/experiment/state.h"

namespace {

using headroom::State;

void spin() {
  const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(50);
  while (std::chrono::steady_clock::now() < until) {
  }
}

void fine(State& state) {
  state.work({.flops = 1000});
  state.measure(spin);
}
HEADROOM_EXPERIMENT(fine);

void slow(State& state) {
  state.measure([] { std::this_thread::sleep_for(std::chrono::milliseconds(30)); });
}
HEADROOM_EXPERIMENT(slow);

void prints(State& state) {
  std::puts("{\"reply\": \"this is not the protocol\"}");
  std::fflush(stdout);
  state.measure([] {
    std::puts("noise on standard output");
    spin();
  });
}
HEADROOM_EXPERIMENT(prints);

void segfaults_while_preparing(State&) {
  std::fputs("about to touch a null pointer\n", stderr);
  std::raise(SIGSEGV);
}
HEADROOM_EXPERIMENT(segfaults_while_preparing);

void segfaults_while_sampling(State& state) {
  int samples = 0;
  state.measure([&] {
    spin();
    if (++samples == 200) {
      std::fputs("the 200th iteration is the last\n", stderr);
      std::raise(SIGSEGV);
    }
  });
}
HEADROOM_EXPERIMENT(segfaults_while_sampling);

void hangs(State& state) {
  state.measure([] { std::this_thread::sleep_for(std::chrono::hours(1)); });
}
HEADROOM_EXPERIMENT(hangs);

void hangs_with_a_child(State& state) {
  if (fork() == 0) {
    std::this_thread::sleep_for(std::chrono::hours(1));
    _exit(0);
  }
  state.measure([] { std::this_thread::sleep_for(std::chrono::hours(1)); });
}
HEADROOM_EXPERIMENT(hangs_with_a_child);

void throws_bad_alloc(State& state) {
  const rlimit bound{std::size_t{1} << 32, std::size_t{1} << 32};
  setrlimit(RLIMIT_AS, &bound);
  std::vector<char> more_than_there_is(std::size_t{1} << 40);
  headroom::keep(more_than_there_is.data());
  state.measure(spin);
}
HEADROOM_EXPERIMENT(throws_bad_alloc);

void is_killed(State& state) {
  state.measure([] { std::raise(SIGKILL); });
}
HEADROOM_EXPERIMENT(is_killed);

void needs_too_much(State& state) {
  state.require_memory(std::size_t{1} << 50);
  state.measure(spin);
}
HEADROOM_EXPERIMENT(needs_too_much);

void returns_nan(State& state) {
  std::vector<float> result(3);
  const std::vector<double> expected{1, 2, 3};
  state.verify([&] { result = {1, std::nanf(""), 3}; }, std::span(result), expected, {});
  state.measure(spin);
}
HEADROOM_EXPERIMENT(returns_nan);

void is_wrong(State& state) {
  std::vector<float> result(2);
  const std::vector<double> expected{1, 2};
  state.verify([&] { result = {1, 2.5F}; }, std::span(result), expected, {});
  state.measure(spin);
}
HEADROOM_EXPERIMENT(is_wrong);

void throws(State&) {
  throw std::runtime_error("the device said no");
}
HEADROOM_EXPERIMENT(throws);

void never_measures(State&) {}
HEADROOM_EXPERIMENT(never_measures);

void skips(State& state) {
  state.skip("this machine has no frobnicator");
}
HEADROOM_EXPERIMENT(skips);

void above_its_limit(State& state) {
  state.work({.bytes = 64e6});  // in 50 us: over a terabyte per second
  state.measure(spin);
}
HEADROOM_EXPERIMENT(above_its_limit);

}  // namespace
