// SPDX-License-Identifier: Apache-2.0
// Differences between libtorch 1.13 (Debian's) and 2.x.
#pragma once

#include <c10/util/intrusive_ptr.h>
#include <torch/version.h>

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>

#include "headroom/base/blas_library.h"

#define HEADROOM_TORCH_AT_LEAST(major, minor) \
  (TORCH_VERSION_MAJOR > (major) || (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))

/// The loader came with 2.5, and some builds lack its header.
#if HEADROOM_TORCH_AT_LEAST(2, 5)
#if __has_include(<torch/csrc/inductor/aoti_package/model_package_loader.h>)
#define HEADROOM_TORCH_HAS_PACKAGES 1
#endif
#endif
#ifndef HEADROOM_TORCH_HAS_PACKAGES
#define HEADROOM_TORCH_HAS_PACKAGES 0
#endif

/// Needs the gloo headers that libtorch was built with: Debian's libtorch 1.13 and libgloo-dev match; for 2.x
/// HEADROOM_TORCH_GLOO asserts a match.
#if __has_include(<gloo/context.h>) && (!HEADROOM_TORCH_AT_LEAST(2, 0) || defined(HEADROOM_TORCH_GLOO))
#define HEADROOM_TORCH_HAS_GLOO 1
#else
#define HEADROOM_TORCH_HAS_GLOO 0
#endif

/// Defined if HEADROOM_TORCH_NCCL found a libtorch with CUDA and the headers.
#if defined(USE_C10D_NCCL)
#define HEADROOM_TORCH_HAS_NCCL 1
#else
#define HEADROOM_TORCH_HAS_NCCL 0
#endif

namespace c10d {
class ProcessGroup;
class Backend;
}  // namespace c10d

namespace torch::autograd {
struct Edge;
struct Node;
}  // namespace torch::autograd

namespace headroom::torch_runner {

inline constexpr const char* kTorchVersion = TORCH_VERSION;

/// Type that runs collectives. In 1.13 gloo is a ProcessGroup; since 2.0 it is a Backend.
#if HEADROOM_TORCH_AT_LEAST(2, 0)
using CollectiveBackend = c10d::Backend;
#else
using CollectiveBackend = c10d::ProcessGroup;
#endif

/// An autograd node in the pointer type of the graph's edges: std::shared_ptr in 1.13, c10::intrusive_ptr in
/// 2.15. Callers include <torch/csrc/autograd/function.h>.
template <typename Derived, typename Edge = torch::autograd::Edge>
auto make_autograd_node() {
  if constexpr (std::is_same_v<decltype(Edge::function), std::shared_ptr<torch::autograd::Node>>) {
    // deleteNode (found by ADL) destroys long graphs without recursion.
    return std::shared_ptr<Derived>(new Derived, [](Derived* node) { deleteNode(node); });
  } else {
    return c10::make_intrusive<Derived>();
  }
}

/// Without backtraces: for TorchScript the line with the error, else the first paragraph.
std::string failure_text(const std::exception& error);

/// libtorch's MKL (PyPI's builds for x86-64), or the BLAS of this process (Debian's libblas.so.3, PyPI's
/// OpenBLAS for aarch64).
std::optional<BlasLibrary> torch_blas();

}  // namespace headroom::torch_runner
