// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "headroom/schedule/tuning.h"

namespace headroom::cli {

/// The variants that were fastest on this machine, in tuning/FINGERPRINT.json of the user's cache folder.
/// Choices under a HEADROOM_ISA are kept apart: the same variant is other code then.
class TunedVariants final : public TuningStore {
 public:
  /// `anew`: what is in the file is forgotten case by case, as each is chosen again. A file that cannot be
  /// read (damaged, of a newer headroom) is as good as none: it is written anew.
  TunedVariants(const std::string& fingerprint, bool anew);

  std::optional<std::string> chosen(const std::string& key) override;
  /// Writes the file. Where that cannot be done the choice holds for this process: a cache is no reason to
  /// fail.
  void choose(const std::string& key, const std::string& variant) override;

 private:
  std::string with_isa(const std::string& key) const;

  std::filesystem::path path_;  ///< empty: there is no folder for caches
  std::string isa_;
  bool anew_;
  std::map<std::string, std::string> variants_;
  std::map<std::string, std::string> chosen_here_;
};

}  // namespace headroom::cli
