// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/peers/peers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "run_case.h"

namespace headroom::native {
namespace {

using ::testing::HasSubstr;

TEST(Peers, PeersAgreeWithFloat64) {
  for (const std::string& backend : gemv_peers()) {
    for (const char* size : {"64", "129", "1000"}) {
      CaseSpec spec = hot_case("gemv", {{"D", size}, {"dtype", "bf16"}});
      spec.backend = backend;
      expect_right(run(spec), backend + size);
      spec.experiment = "gather_gemv";
      expect_right(run(spec), backend + size);
    }
    CaseSpec cold = hot_case("gather_gemv", {{"D", "1000"}, {"dtype", "bf16"}});
    cold.backend = backend;
    cold.caches = Caches::kCold;
    expect_right(run(cold), backend + " cold");
  }
  for (const std::string& backend : layer_norm_peers()) {
    CaseSpec spec = hot_case("layer_norm", {{"D", "100"}, {"BS", "9"}, {"dtype", "bf16"}});
    spec.backend = backend;
    expect_right(run(spec), backend);
  }
  for (const std::string& backend : mlp_peers()) {
    CaseSpec spec = hot_case("mlp_layer_norm_gelu", {{"D", "100"}, {"hidden", "333"}, {"dtype", "bf16"}});
    spec.backend = backend;
    expect_right(run(spec), backend);
  }
}

TEST(Peers, PeersSayWhatTheyDoNotHave) {
  for (const std::string& backend : gemv_peers()) {
    CaseSpec spec = hot_case("gemv", {{"D", "64"}, {"dtype", "int8"}});
    spec.backend = backend;
    EXPECT_THAT(run(spec).skipped, HasSubstr("int8")) << backend;
  }
}

TEST(Peers, OpenBlasCountsTheBytesOfItsFloats) {
  const auto peers = gemv_peers();
  if (std::ranges::find(peers, "openblas") == peers.end()) GTEST_SKIP() << "built without OpenBLAS";
  CaseSpec spec = hot_case("gemv", {{"D", "100"}, {"dtype", "bf16"}});
  spec.backend = "openblas";
  const CaseInfo info = run(spec).info;
  EXPECT_EQ(info.work.bytes, 4 * 100 * 100);
  EXPECT_EQ(info.work.flops, 2 * 100 * 100);
  EXPECT_THAT(info.notes.at("weights"), HasSubstr("f32"));
}

}  // namespace
}  // namespace headroom::native
