// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/peers/peers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "headroom_native/kernels/isa.h"
#include "run_case.h"

namespace headroom::native {
namespace {

using ::testing::HasSubstr;

/// oneDNN has nothing for bf16 where a CPU has no AVX-512; its own variable hides that from it.
bool may_be_missing(const Outcome& outcome) {
  const bool hidden = std::getenv("ONEDNN_MAX_CPU_ISA") != nullptr;
  return outcome.skipped.starts_with("oneDNN does not do this here") &&
         (hidden || available_isas().back() < Isa::kAvx512);
}

TEST(Peers, PeersAgreeWithFloat64) {
  std::string missing;
  const auto check = [&](CaseSpec spec, const std::string& backend) {
    spec.backend = backend;
    const Outcome outcome = run(spec);
    const std::string what = backend + " " + spec.experiment;
    if (may_be_missing(outcome)) {
      missing += what + ": " + outcome.skipped + "\n";
    } else {
      expect_right(outcome, what);
    }
  };
  for (const std::string& backend : gemv_peers()) {
    for (const char* size : {"64", "129", "1000"}) {
      check(hot_case("gemv", {{"D", size}, {"dtype", "bf16"}}), backend);
      check(hot_case("gather_gemv", {{"D", size}, {"dtype", "bf16"}}), backend);
    }
    CaseSpec cold = hot_case("gather_gemv", {{"D", "1000"}, {"dtype", "bf16"}});
    cold.caches = Caches::kCold;
    check(cold, backend);
  }
  for (const std::string& backend : layer_norm_peers()) {
    check(hot_case("layer_norm", {{"D", "100"}, {"BS", "9"}, {"dtype", "bf16"}}), backend);
  }
  for (const std::string& backend : mlp_peers()) {
    check(hot_case("mlp_layer_norm_gelu", {{"D", "100"}, {"hidden", "333"}, {"dtype", "bf16"}}), backend);
  }
  if (!missing.empty()) GTEST_SKIP() << missing;
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
