// SPDX-License-Identifier: Apache-2.0
#include "headroom/base/secrets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headroom {
namespace {

using testing::ElementsAre;

TEST(Secrets, AreKnownByTheirNames) {
  for (const char* name :
       {"--password", "--db-password", "PGPASSWORD_FILE_PASSWORD", "AWS_SECRET_ACCESS_KEY", "apiKey",
        "--api-key", "GITHUB_TOKEN", "token", "--hf-token", "MYSQL_PWD", "private_key", "Secret"})
    EXPECT_TRUE(names_a_secret(name)) << name;
  for (const char* name : {"--max-new-tokens", "tokens", "token_ids_of", "--precision", "--key", "passes",
                           "--passes", "D", "keyboard", "", "-"})
    EXPECT_EQ(names_a_secret(name), std::string_view(name) == "token_ids_of") << name;
}

TEST(Secrets, AreHiddenInWords) {
  EXPECT_THAT(without_secrets(std::vector<std::string>{"run", "--store", "postgresql://me:pa:ss@host/db?x=1",
                                                       "--token", "abc", "--password=x y",
                                                       "DB_PASSWORD=hunter2", "-a", "D=1024"}),
              ElementsAre("run", "--store", "postgresql://me:***@host/db?x=1", "--token", "***",
                          "--password=***", "DB_PASSWORD=***", "-a", "D=1024"));
  EXPECT_THAT(
      without_secrets(std::vector<std::string>{"postgresql://host/db?user=me&password=x&sslmode=require"}),
      ElementsAre("postgresql://host/db?user=me&password=***&sslmode=require"));
  EXPECT_THAT(without_secrets(std::vector<std::string>{"curl", "-H", "Authorization: Bearer abc.def"}),
              ElementsAre("curl", "-H", "Authorization: Bearer ***"));
  EXPECT_THAT(without_secrets(std::vector<std::string>{"--token", "--verbose", "x"}),
              ElementsAre("--token", "--verbose", "x"));
  EXPECT_THAT(without_secrets(std::vector<std::string>{"--token"}), ElementsAre("--token"));
}

TEST(Secrets, AreHiddenInLines) {
  EXPECT_EQ(without_secrets("API_KEY='a b' prog --secret x  --n 5"),
            "API_KEY='***' prog --secret ***  --n 5");
  EXPECT_EQ(without_secrets("curl -H 'Authorization: Bearer abc' http://a:b@c/d e@f"),
            "curl -H 'Authorization: Bearer ***' http://a:***@c/d e@f");
  EXPECT_EQ(without_secrets("env PGPASSWORD=x psql"), "env PGPASSWORD=*** psql");
}

TEST(Secrets, WhatIsNoneStays) {
  const std::string line = "prog --tokens 128 -a D=1024 http://host:8080/x me@host key=5 a=b=c 'x y'";
  EXPECT_EQ(without_secrets(line), line);
  EXPECT_EQ(without_secrets(""), "");
}

}  // namespace
}  // namespace headroom
