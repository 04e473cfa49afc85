// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace headroom {

/// The BLAS library of a process.
struct BlasLibrary {
  std::string name;     ///< "OpenBLAS", "MKL", kReferenceBlas
  std::string version;  ///< "0.3.21"; empty if unknown
  std::string file;     ///< canonical path: "/usr/lib/x86_64-linux-gnu/blas/libblas.so.3.11.0"

  bool operator==(const BlasLibrary&) const = default;
};

/// Netlib's reference implementation, many times slower than the others.
inline constexpr const char* kReferenceBlas = "reference BLAS";

/// Returns nullopt without a BLAS.
using DescribeBlas = std::function<std::optional<BlasLibrary>()>;

/// Identifies a BLAS by its file name and folder (Debian keeps alternatives of libblas.so.3 in folders named
/// after the library). Returns nullopt for other libraries.
std::optional<BlasLibrary> blas_named(std::string_view file);

/// The BLAS that this process has loaded. Of several, returns the one that computes: Debian's OpenBLAS
/// libblas.so.3 only forwards to libopenblas.so.0.
std::optional<BlasLibrary> blas_in_process();

/// Sets the thread count of OpenBLAS (unless built with OpenMP). No effect for other libraries.
void set_blas_threads(int threads);

}  // namespace headroom
