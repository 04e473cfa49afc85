// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <new>
#include <stdexcept>

#include "headroom/experiment/registry.h"
#include "headroom/experiment/state.h"

namespace headroom {

/// Counts the cases that live.
struct Living {
  static inline std::atomic<int> count = 0;
  Living() { ++count; }
  ~Living() { --count; }
};

/// Behaves as its axis "how" says.
inline void behave(State& state) {
  const Living living;
  const std::string how = state.text("how");
  if (how == "throws") throw std::runtime_error("boom in prepare");
  if (how == "silent throw") throw std::runtime_error("");
  if (how == "throws a number") throw 7;
  if (how == "no memory") throw std::bad_alloc();
  if (how == "skips") state.skip("not today");
  if (how == "wrong") throw WrongAnswer{"wrong at 3"};
  if (how == "no measure") return;
  state.work({.flops = 8, .dtype = "f32"});
  int calls = 0;
  state.measure_batches([&](std::uint64_t iterations) -> double {
    ++calls;
    if (how == "throws in sample" && calls == 2) throw std::runtime_error("boom in sample");
    if (how == "silent throw in sample") throw std::runtime_error("");
    if (how == "no memory in sample") throw std::bad_alloc();
    return static_cast<double>(iterations) * 100 + calls;
  });
  if (how == "throws after") throw std::runtime_error("too late to matter");
  if (how == "measures again") state.measure([] {});
}

inline CaseSpec behaving(const std::string& how) {
  CaseSpec spec;
  spec.experiment = "behave";
  spec.axes = {{"how", how}};
  return spec;
}

inline Registry sample_registry() {
  Registry made;
  made.add("behave", behave).summary("as told").axis("how", {"well"});
  return made;
}

}  // namespace headroom
