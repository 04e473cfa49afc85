// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace headroom {

/// What the system's files tell of NVIDIA's GPUs, without asking the driver's libraries: little, but in no
/// time.
struct GpuFiles {
  /// One for each GPU, sorted: its PCI ids ("10de:2335"), else its name, else "nvidia". Of the whole machine
  /// where the kernel shows its PCI bus, of this container otherwise.
  std::vector<std::string> kinds;
  std::vector<std::string>
      names;  ///< "NVIDIA H200", in the order of the PCI bus; empty where no file tells them
};

/// `root` is "/" but in tests.
GpuFiles read_gpu_files(const std::filesystem::path& root = "/");

}  // namespace headroom
