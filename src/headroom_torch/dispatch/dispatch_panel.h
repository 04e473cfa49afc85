// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "headroom/ranks/dispatch/dispatch_setup.h"
#include "headroom_torch/dispatch/dispatch_case.h"
#include "headroom_torch/dtensor/device_mesh.h"

namespace headroom::torch_runner {

/// What a case is made for.
struct DispatchContext {
  dtensor::MeshPtr mesh;
  dtensor::Placements placements;
  DispatchSetup setup;
  std::uint64_t seed = 1;
};

/// An operator that can be measured.
struct PanelOp {
  const char* name;
  const char* summary;
  bool by_default;  ///< of the twelve that are measured when none is named
  /// Throws Error where the operator does not take a tensor of that shape.
  std::unique_ptr<DispatchCase> (*make)(const DispatchContext& context);
};

/// All of them; those measured by default come first.
const std::vector<PanelOp>& dispatch_panel();

}  // namespace headroom::torch_runner
