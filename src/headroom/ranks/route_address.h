// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "headroom/ranks/rank_environment.h"

namespace headroom {

/// The address of this machine, as numbers, that packets to `place` leave from: what processes over there
/// reach us at. A host's own name may stand for an address that no other host can reach, or for that of
/// another network. Empty where there is no way to `place`. Sends nothing.
std::string local_address_to(const Meeting& place);

}  // namespace headroom
