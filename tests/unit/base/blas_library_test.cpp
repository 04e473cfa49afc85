// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "headroom/base/blas_library.h"

namespace headroom {
namespace {

struct Known {
  const char *file, *name, *version;
};

TEST(BlasLibrary, IsToldByItsFile) {
  for (const Known& known : {
           Known{"/usr/lib/x86_64-linux-gnu/blas/libblas.so.3.11.0", kReferenceBlas, "3.11.0"},
           Known{"/usr/lib/x86_64-linux-gnu/openblas-pthread/libblas.so.3", "OpenBLAS", ""},
           Known{"/usr/lib/x86_64-linux-gnu/openblas-openmp/libopenblasp-r0.3.21.so", "OpenBLAS", "0.3.21"},
           Known{"/site-packages/torch.libs/libopenblasp-r0-2f7c42d4.3.30.so", "OpenBLAS", "4.3.30"},
           Known{"/opt/intel/mkl/2024.2/lib/libmkl_rt.so.2", "MKL", ""},
           Known{"/usr/lib/x86_64-linux-gnu/blis-openmp/libblas.so.3", "BLIS", ""},
           Known{"/usr/lib/x86_64-linux-gnu/atlas/libblas.so.3.10.3", "ATLAS", "3.10.3"},
       }) {
    SCOPED_TRACE(known.file);
    const auto found = identify_blas(known.file);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->name, known.name);
    EXPECT_EQ(found->file, known.file);
  }
  EXPECT_EQ(identify_blas("/usr/lib/x86_64-linux-gnu/blas/libblas.so.3.11.0")->version, "3.11.0");
  EXPECT_EQ(identify_blas("/x/libopenblasp-r0.3.21.so")->version, "0.3.21");
  EXPECT_EQ(identify_blas("/x/libmkl_rt.so.2")->version, "") << "the version of an interface says little";
}

TEST(BlasLibrary, WhatIsNoneIsNone) {
  for (const char* file : {"/usr/lib/libc.so.6", "/usr/lib/x86_64-linux-gnu/openblas-pthread/liblapack.so.3",
                           "/home/me/openblas/libmine.so", ""}) {
    EXPECT_FALSE(identify_blas(file)) << file;
  }
}

TEST(BlasLibrary, AProcessWithoutOneHasNoneAndItsThreadsAreNobodys) {
  EXPECT_EQ(loaded_blas(), std::nullopt);
  set_blas_threads(2);
}

}  // namespace
}  // namespace headroom
