// SPDX-License-Identifier: Apache-2.0
#include "headroom/machine/gpu_files.h"

#include <algorithm>
#include <cctype>

#include "headroom/base/text.h"
#include "headroom/machine/text_file.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

/// The entries of a folder, sorted by name; none where there is no such folder.
std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator place(folder, error), end; !error && place != end; place.increment(error)) {
    found.push_back(place->path());
  }
  std::ranges::sort(found);
  return found;
}

std::string without_0x(const std::string& id) {
  return id.starts_with("0x") ? id.substr(2) : id;
}

/// What the driver has taken: the names of PCI addresses among other files. Other functions of a card (its
/// sound) are another driver's.
std::vector<std::string> pci_kinds(const fs::path& root) {
  std::vector<std::string> kinds;
  for (const fs::path& device : entries(root / "sys/bus/pci/drivers/nvidia")) {
    if (device.filename().string().find(':') == std::string::npos) continue;
    const std::string vendor = without_0x(value_in_file(device / "vendor"));
    const std::string id = without_0x(value_in_file(device / "device"));
    if (!vendor.empty() && !id.empty()) kinds.push_back(vendor + ":" + id);
  }
  return kinds;
}

/// "Model: \t\t NVIDIA H200" in the driver's own file of each GPU.
std::vector<std::string> driver_names(const fs::path& root) {
  std::vector<std::string> names;
  for (const fs::path& gpu : entries(root / "proc/driver/nvidia/gpus")) {
    for (const std::string& line : split(text_of_file(gpu / "information"), '\n')) {
      if (!line.starts_with("Model:")) continue;
      names.emplace_back(trimmed(std::string_view(line).substr(std::string_view("Model:").size())));
      break;
    }
  }
  return names;
}

/// The device files /dev/nvidia0, /dev/nvidia1: all that some containers show.
std::size_t device_files(const fs::path& root) {
  const auto is_gpu = [](const fs::path& path) {
    const std::string name = path.filename().string();
    constexpr std::string_view kStart = "nvidia";
    return name.starts_with(kStart) && name.size() > kStart.size() &&
           std::all_of(name.begin() + kStart.size(), name.end(),
                       [](unsigned char c) { return std::isdigit(c) != 0; });
  };
  return static_cast<std::size_t>(std::ranges::count_if(entries(root / "dev"), is_gpu));
}

}  // namespace

GpuFiles read_gpu_files(const fs::path& root) {
  GpuFiles found;
  found.names = driver_names(root);
  found.kinds = pci_kinds(root);
  if (found.kinds.empty()) found.kinds = found.names;
  if (found.kinds.empty()) found.kinds.assign(device_files(root), "nvidia");
  std::ranges::sort(found.kinds);
  return found;
}

}  // namespace headroom
