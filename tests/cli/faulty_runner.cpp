// SPDX-License-Identifier: Apache-2.0
// A runner with one experiment per way to fail.
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

#include "headroom/experiment/random.h"
#include "headroom/experiment/registry.h"
#include "headroom/experiment/state.h"
#include "headroom/experiment/sum_tolerance.h"

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

/// One backend is right; the faster one is wrong.
void one_is_wrong(State& state) {
  const bool is_wrong = state.backend() == "fast";
  std::vector<float> result(2);
  const std::vector<double> expected{1, 2};
  state.work({.flops = 1000});
  state.verify([&] { result = {1, is_wrong ? 2.5F : 2}; }, std::span(result), expected, {});
  state.measure([&] {
    spin();
    if (!is_wrong) spin();
  });
}
HEADROOM_EXPERIMENT(one_is_wrong).backends({"right", "fast"});

void sums_in_bf16(State& state) {
  constexpr std::size_t kRows = 64, kTerms = 1024;
  std::vector<headroom::Bf16> terms(kRows * kTerms), sums(kRows);
  headroom::fill_random(std::span(terms), state.seed());
  std::vector<double> exact(kRows, 0);
  for (std::size_t i = 0; i < terms.size(); ++i) exact[i / kTerms] += headroom::to_float(terms[i]);
  const auto run = [&] {
    for (std::size_t row = 0; row < kRows; ++row) {
      headroom::Bf16 sum{};
      for (std::size_t i = 0; i < kTerms; ++i)
        sum = headroom::to_bf16(headroom::to_float(sum) + headroom::to_float(terms[row * kTerms + i]));
      sums[row] = sum;
    }
  };
  const bool declared = state.backend() == "declared";
  const auto precision = declared ? headroom::Precision::kBf16 : headroom::Precision::kF32;
  state.verify(run, std::span(sums), exact,
               headroom::tolerance_of_sums({.relative = 1.25 * 0x1p-8}, precision, {kTerms}, kRows));
  state.measure(run);
}
HEADROOM_EXPERIMENT(sums_in_bf16).backends({"declared", "undeclared"});

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
  state.work({.bytes = 4e8});  // in 50 us: terabytes per second
  state.measure(spin);
}
HEADROOM_EXPERIMENT(above_its_limit);

}  // namespace
