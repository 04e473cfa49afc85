// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace headroom {

/// The library of matrix products (BLAS) that a process computes with.
struct BlasLibrary {
  std::string name;     ///< "OpenBLAS", "MKL", kReferenceBlas
  std::string version;  ///< "0.3.21"; empty where it cannot be told
  std::string file;     ///< with links followed: "/usr/lib/x86_64-linux-gnu/blas/libblas.so.3.11.0"

  bool operator==(const BlasLibrary&) const = default;
};

/// Netlib's: the definition of what a BLAS computes, and many times slower than the others.
inline constexpr const char* kReferenceBlas = "reference BLAS";

/// Empty where there is none.
using DescribeBlas = std::function<std::optional<BlasLibrary>()>;

/// What the shared library in `file` is, by its name and folder (Debian's alternatives for libblas.so.3 lie
/// in folders named for what they are); empty where it is no BLAS.
std::optional<BlasLibrary> blas_named(std::string_view file);

/// The BLAS among the shared libraries of this process, now. Of several the one that computes: Debian's
/// libblas.so.3 of OpenBLAS only hands calls on to libopenblas.so.0.
std::optional<BlasLibrary> blas_in_process();

/// Has a BLAS with threads of its own (OpenBLAS, but where it was built with OpenMP) use `threads` of them;
/// without one nothing happens.
void set_blas_threads(int threads);

}  // namespace headroom
