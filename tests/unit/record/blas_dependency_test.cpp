// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/blas_dependency.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headroom {
namespace {

const BlasLibrary kNetlib{kReferenceBlas, "3.11.0", "/usr/lib/blas/libblas.so.3.11.0"};
const BlasLibrary kOpenBlas{"OpenBLAS", "0.3.21", "/usr/lib/libopenblasp-r0.3.21.so"};

std::vector<Record> records_of(const Environment& environment, const std::string& runner) {
  Record record;
  record.runner = runner;
  record.environment = std::make_shared<Environment>(environment);
  return {record, record};
}

TEST(BlasDependency, NamesTheLibraryItsFileAndWhoComputesWithIt) {
  Environment environment;
  add_blas(environment, kOpenBlas, "torch");
  const Environment::Dependency& blas = environment.dependencies.at("BLAS");
  EXPECT_EQ(blas.version, "0.3.21");
  EXPECT_EQ(blas.extra_info.at("name"), "OpenBLAS");
  EXPECT_EQ(blas.extra_info.at("file"), kOpenBlas.file);
  EXPECT_EQ(blas.extra_info.at("runner"), "torch");
  add_blas(environment, kNetlib, "old/headroom-torch");
  EXPECT_EQ(environment.dependencies.at("BLAS of old/headroom-torch").version, "3.11.0");
  EXPECT_EQ(environment.dependencies.at("BLAS").version, "0.3.21") << "the first stays";
}

TEST(BlasDependency, OneLineSaysThatNetlibsIsSlowAndWhatToDo) {
  Environment environment;
  add_blas(environment, kNetlib, "torch");
  EXPECT_EQ(
      reference_blas_text(records_of(environment, "torch")),
      "torch computes on netlib's reference BLAS (/usr/lib/blas/libblas.so.3.11.0), many times slower than "
      "others: apt-get install libopenblas0-openmp\n");
}

TEST(BlasDependency, NothingIsSaidOfAnotherBlasOrARunnerThatMeasuredNothing) {
  Environment environment;
  EXPECT_EQ(reference_blas_text(records_of(environment, "torch")), "");
  add_blas(environment, kOpenBlas, "torch");
  EXPECT_EQ(reference_blas_text(records_of(environment, "torch")), "");
  add_blas(environment, kNetlib, "other");
  EXPECT_EQ(reference_blas_text(records_of(environment, "torch")), "");
  EXPECT_EQ(reference_blas_text(std::vector<Record>{Record{}}), "") << "without an environment";
}

}  // namespace
}  // namespace headroom
