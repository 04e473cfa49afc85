// SPDX-License-Identifier: Apache-2.0
#include "headroom/base/user_folders.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "headroom/base/error.h"

namespace headroom {
namespace {

/// A variable as it was before, when the test is over.
class KeptVariable {
 public:
  explicit KeptVariable(const char* name) : name_(name) {
    if (const char* value = std::getenv(name)) value_ = value;
  }
  ~KeptVariable() { set(value_ ? value_->c_str() : nullptr); }
  KeptVariable(const KeptVariable&) = delete;
  KeptVariable& operator=(const KeptVariable&) = delete;

  void set(const char* value) const { value == nullptr ? ::unsetenv(name_) : ::setenv(name_, value, 1); }

 private:
  const char* name_;
  std::optional<std::string> value_;
};

struct UserFolder {
  const char* variable;
  const char* below_home;
  std::filesystem::path (*folder)();
};

class UserFolders : public testing::TestWithParam<UserFolder> {};

TEST_P(UserFolders, FollowTheXdgVariablesAndHome) {
  const KeptVariable home("HOME"), variable(GetParam().variable);
  home.set("/home/u");
  variable.set("/elsewhere");
  EXPECT_EQ(GetParam().folder(), "/elsewhere/headroom");
  variable.set("relative");
  EXPECT_EQ(GetParam().folder(), std::string("/home/u/") + GetParam().below_home + "/headroom");
  variable.set(nullptr);
  EXPECT_EQ(GetParam().folder(), std::string("/home/u/") + GetParam().below_home + "/headroom");
  home.set(nullptr);
  EXPECT_THROW(GetParam().folder(), Error);
}

INSTANTIATE_TEST_SUITE_P(All, UserFolders,
                         testing::Values(UserFolder{"XDG_DATA_HOME", ".local/share", user_data_folder},
                                         UserFolder{"XDG_CACHE_HOME", ".cache", user_cache_folder},
                                         UserFolder{"XDG_STATE_HOME", ".local/state", user_state_folder}),
                         [](const auto& info) { return std::string(info.param.variable); });

}  // namespace
}  // namespace headroom
