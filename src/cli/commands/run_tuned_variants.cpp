// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/run_tuned_variants.h"

#include <cstdlib>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom/base/user_folders.h"

namespace headroom::cli {
namespace {

constexpr int kTuningSchema = 1;

std::filesystem::path tuning_path(const std::string& fingerprint) {
  try {
    return user_cache_folder() / "tuning" / (fingerprint + ".json");
  } catch (const Error&) {
    return {};
  }
}

std::map<std::string, std::string> read_variants(const std::filesystem::path& path) {
  std::map<std::string, std::string> variants;
  if (path.empty() || !std::filesystem::exists(path)) return variants;
  try {
    const Json file = parse_json(read_file(path), path.string());
    if (json_number(file, "schema", path.string()) != kTuningSchema) return {};
    for (const auto& [key, variant] : json_member(file, "variants", path.string()).items()) {
      if (variant.is_string()) variants[key] = variant.get<std::string>();
    }
  } catch (const Error&) {
    return {};
  }
  return variants;
}

}  // namespace

TunedVariants::TunedVariants(const std::string& fingerprint, bool anew)
    : path_(tuning_path(fingerprint)), anew_(anew), variants_(read_variants(path_)) {
  if (const char* isa = std::getenv("HEADROOM_ISA")) isa_ = isa;
}

std::string TunedVariants::with_isa(const std::string& key) const {
  return isa_.empty() ? key : key + " " + isa_;
}

std::optional<std::string> TunedVariants::chosen(const std::string& key) {
  const auto& variants = anew_ ? chosen_here_ : variants_;
  const auto found = variants.find(with_isa(key));
  if (found == variants.end()) return std::nullopt;
  return found->second;
}

void TunedVariants::choose(const std::string& key, const std::string& variant) {
  variants_[with_isa(key)] = chosen_here_[with_isa(key)] = variant;
  if (path_.empty()) return;
  Json file{{"schema", kTuningSchema}, {"variants", variants_}};
  try {
    write_file_atomically(path_, dump_json_pretty(file) + "\n");
  } catch (const Error&) {
    path_.clear();
  }
}

}  // namespace headroom::cli
