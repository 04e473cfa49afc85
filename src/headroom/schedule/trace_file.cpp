// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/trace_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

namespace headroom {
namespace {

/// File systems allow 255 bytes, and a writer may put its own ending behind.
constexpr std::size_t kMostBytes = 180;

bool is_plain(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9') ||
         std::string_view("._=-,#@").find(letter) != std::string_view::npos;
}

/// FNV-1a: a file must have the same name in every run, which std::hash does not promise.
std::uint32_t number_of(const std::string& text) {
  std::uint32_t hash = 2166136261U;
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619U;
  return hash;
}

bool is_shared(const std::string& experiment, const std::vector<RunnerOffer>& offers) {
  return std::ranges::count_if(offers, [&](const RunnerOffer& offer) {
           return !offer.only_limits &&
                  std::ranges::find(offer.experiments, experiment, &ExperimentDescription::name) !=
                      offer.experiments.end();
         }) > 1;
}

}  // namespace

std::string trace_file(const std::string& folder, const std::string& title, const PlannedCase& planned,
                       const std::vector<RunnerOffer>& offers) {
  std::string name = title + "." + planned.spec.backend;
  if (is_shared(planned.spec.experiment, offers)) name += "@" + offers.at(planned.runner).label;
  const std::string whole = name;
  std::ranges::replace_if(
      name, [](char letter) { return !is_plain(letter); }, '_');
  if (name.front() == '.') name.front() = '_';
  if (name.size() > kMostBytes) name = fmt::format("{}-{:08x}", name.substr(0, kMostBytes), number_of(whole));
  return (std::filesystem::path(folder) / (name + ".json")).string();
}

}  // namespace headroom
