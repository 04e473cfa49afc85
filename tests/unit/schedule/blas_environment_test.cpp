// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/blas_environment.h"

#include <gtest/gtest.h>

namespace headroom {
namespace {

TEST(BlasEnvironment, IsTheSameObjectWhereNoRunnerTellsOfOne) {
  const auto environment = std::make_shared<const Environment>();
  EXPECT_EQ(with_blas(environment, {RunnerOffer{}}), environment);
  EXPECT_EQ(with_blas(nullptr, {RunnerOffer{}}), nullptr);
}

TEST(BlasEnvironment, HasTheBlasOfTheRunnerUnderItsLabel) {
  const auto environment = std::make_shared<const Environment>();
  RunnerOffer offer;
  offer.label = "torch";
  offer.blas = BlasLibrary{"MKL", "2024.2", "/venv/libtorch_cpu.so"};
  const auto completed = with_blas(environment, {RunnerOffer{}, offer});
  EXPECT_EQ(completed->dependencies.at("BLAS").extra_info.at("runner"), "torch");
  EXPECT_EQ(completed->dependencies.at("BLAS").version, "2024.2");
  EXPECT_TRUE(environment->dependencies.empty()) << "the one that was given stays as it is";
}

}  // namespace
}  // namespace headroom
