// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace headroom {

struct BlasLibrary {
  std::string name;     ///< "OpenBLAS", "MKL", kReferenceBlas
  std::string version;  ///< "0.3.21"; empty if unknown
  std::string file;

  bool operator==(const BlasLibrary&) const = default;
};

/// Many times slower than others.
inline constexpr const char* kReferenceBlas = "reference BLAS";

using DescribeBlas = std::function<std::optional<BlasLibrary>()>;

/// By file name and folder: Debian keeps alternatives of libblas.so.3 in folders named after the library.
/// Nullopt for other libraries.
std::optional<BlasLibrary> identify_blas(std::string_view file);

/// The BLAS that computes: Debian's OpenBLAS libblas.so.3 forwards to libopenblas.so.0.
std::optional<BlasLibrary> loaded_blas();

/// Affects only OpenBLAS without OpenMP.
void set_blas_threads(int threads);

}  // namespace headroom
