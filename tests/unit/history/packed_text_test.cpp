// SPDX-License-Identifier: Apache-2.0
#include "headroom/history/packed_text.h"

#include <gmock/gmock.h>

#include "headroom/base/error.h"

namespace headroom {
namespace {

TEST(PackedText, ComesBackAsItWas) {
  for (const std::string& text :
       {std::string(), std::string("x"), std::string(100000, 'a'), std::string("a\0b", 3)}) {
    EXPECT_EQ(unpack_text(pack_text(text), "test"), text);
  }
  EXPECT_LT(pack_text(std::string(100000, 'a')).size(), 100u);
}

TEST(PackedText, DamageIsTold) {
  const std::string packed = pack_text("{\"value\": 1}");
  for (const std::string& damaged :
       {std::string(), std::string("not compressed"), packed.substr(0, packed.size() - 1)}) {
    try {
      unpack_text(damaged, "run 7");
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::StartsWith("run 7: damaged"));
    }
  }
}

TEST(PackedText, DigestIsFnv1a128) {
  // Test vectors of draft-eastlake-fnv.
  EXPECT_EQ(digest_of(""), "6c62272e07bb014262b821756295c58d");
  EXPECT_EQ(digest_of("a"), "d228cb696f1a8caf78912b704e4a8964");
  EXPECT_EQ(digest_of("foobar"), "343e1662793c64bf6f0d3597ba446f18");
}

}  // namespace
}  // namespace headroom
