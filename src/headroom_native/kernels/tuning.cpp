// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/kernels/tuning.h"

#include <algorithm>

#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom::native {
namespace {

constexpr std::size_t kKiB = 1024;

/// For all instruction sets; gemv_choices() filters.
const std::vector<GemvChoice>& all_gemv_choices() {
  static const std::vector<GemvChoice> choices{
      {"1 row, 8 KiB ahead", {1, 8 * kKiB}},
      {"1 row, 4 KiB ahead", {1, 4 * kKiB}},
      {"1 row, 16 KiB ahead", {1, 16 * kKiB}},
      {"1 row, 8 KiB ahead around caches", {1, 8 * kKiB, PrefetchLevel::kFirstCache}},
      {"1 row, 12 KiB ahead past the first cache", {1, 12 * kKiB, PrefetchLevel::kLargerCaches}},
      {"1 row", {1, 0}},
      {"2 rows, 8 KiB ahead", {2, 8 * kKiB}},
      {"4 rows", {4, 0}},
      {"4 rows apart", GemvWalk(4, 0).with_rows_apart()},
      {"4 rows apart, 2 KiB ahead", GemvWalk(4, 2 * kKiB).with_rows_apart()},
      {"4 rows apart, 2 KiB ahead past the first cache",
       GemvWalk(4, 2 * kKiB, PrefetchLevel::kLargerCaches).with_rows_apart()},
      {"2 rows apart", GemvWalk(2, 0).with_rows_apart()},
      {"2 rows apart, 4 KiB ahead past the first cache",
       GemvWalk(2, 4 * kKiB, PrefetchLevel::kLargerCaches).with_rows_apart()},
      {"4 rows, 2 KiB ahead", {4, 2 * kKiB}},
      {"4 rows, 8 KiB ahead past the first cache", {4, 8 * kKiB, PrefetchLevel::kLargerCaches}},
      {"4 rows, one thread", {4, 0}, GemvForm::kBest, true},
      {"table, 1 row, 8 KiB ahead", {1, 8 * kKiB}, GemvForm::kTable},
      {"table, 1 row, 8 KiB ahead past the first cache",
       {1, 8 * kKiB, PrefetchLevel::kLargerCaches},
       GemvForm::kTable},
  };
  return choices;
}

template <typename Choice>
std::vector<std::string> names_of(const std::vector<Choice>& choices) {
  std::vector<std::string> names;
  for (const Choice& choice : choices) names.push_back(choice.name);
  return names;
}

template <typename Choice>
const Choice& named(const std::vector<Choice>& choices, const std::string& name) {
  const auto found = std::ranges::find(choices, name, &Choice::name);
  if (found == choices.end()) throw Error("no variant " + quote(name) + " of this kernel");
  return *found;
}

Isa declared_isa() {
  try {
    return chosen_isa();
  } catch (const Error&) {
    return available_isas().back();
  }
}

}  // namespace

std::vector<GemvChoice> gemv_choices(const std::vector<std::string>& dtypes, Isa isa) {
  std::vector<GemvChoice> choices = all_gemv_choices();
  std::erase_if(choices, [&](const GemvChoice& choice) {
    return std::ranges::none_of(
        dtypes, [&](const std::string& dtype) { return has_gemv_form(dtype, isa, choice.form); });
  });
  return choices;
}

const std::vector<NormChoice>& norm_choices() {
  static const std::vector<NormChoice> choices{
      {"1 row, around caches, 8 KiB and a row ahead", {Stores::kNontemporal, 1, 8 * kKiB, true}},
      {"2 rows, around caches, 8 KiB and a block ahead", {Stores::kNontemporal, 2, 8 * kKiB, true}},
      {"4 rows, around caches, 8 KiB and a block ahead", {Stores::kNontemporal, 4, 8 * kKiB, true}},
      {"1 row", {Stores::kCached, 1, 0, false}},
      {"4 rows", {Stores::kCached, 4, 0, false}},
      {"4 rows, a block ahead", {Stores::kCached, 4, 0, true}},
  };
  return choices;
}

std::vector<std::string> gemv_variants(const std::vector<std::string>& dtypes) {
  return names_of(gemv_choices(dtypes, declared_isa()));
}

std::vector<std::string> mlp_variants() {
  std::vector<GemvChoice> choices = gemv_choices({"bf16"}, declared_isa());
  std::erase_if(choices, [](const GemvChoice& choice) { return choice.one_thread; });
  return names_of(choices);
}

std::vector<std::string> norm_variants() {
  return names_of(norm_choices());
}

GemvChoice gemv_choice(State& state, std::size_t bytes_per_thread, std::string_view dtype, Isa isa) {
  const bool hot = state.caches() == Caches::kHot;
  std::string name = state.variant();
  if (name.empty()) {
    name = residency_of(bytes_per_thread, hot) == Residency::kNear
               ? "4 rows"
               : "4 rows apart, 2 KiB ahead past the first cache";
  }
  const GemvChoice& choice = named(all_gemv_choices(), name);
  if (!has_gemv_form(dtype, isa, choice.form)) {
    state.skip("the variant " + quote(name) + " needs int8 weights and a CPU with AVX512-VBMI");
  }
  if (choice.one_thread && state.threads() == 1) {
    state.skip("the variant " + quote(name) + " equals 4 rows in a case with one thread");
  }
  state.note("variant", name);
  return choice;
}

NormChoice norm_choice(State& state, std::size_t bytes_per_thread) {
  // Measured: plain stores lose above about 4 MiB, even with a larger last-level cache.
  constexpr std::size_t kOwnCaches = std::size_t{2} << 20;
  std::string name = state.variant();
  if (name.empty()) {
    const bool stays = state.caches() == Caches::kHot && bytes_per_thread <= kOwnCaches;
    name = stays ? "4 rows, a block ahead" : "2 rows, around caches, 8 KiB and a block ahead";
  }
  const NormChoice& choice = named(norm_choices(), name);
  state.note("variant", name);
  return choice;
}

}  // namespace headroom::native
