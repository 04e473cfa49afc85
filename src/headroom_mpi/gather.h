// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace headroom::mpi {

/// Gives process 0 the text of every process, in their order, and the others nothing. All of them have to
/// call it. Texts may be longer than the int that MPI counts with.
std::vector<std::string> gather_texts(const std::string& mine);

}  // namespace headroom::mpi
