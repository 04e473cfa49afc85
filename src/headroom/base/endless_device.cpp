// SPDX-License-Identifier: Apache-2.0
#include "headroom/base/endless_device.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom {
namespace {

/// The same on every Linux: Documentation/admin-guide/devices.txt of the kernel.
constexpr unsigned kNullMajor = 1, kNullMinor = 3;

}  // namespace

void refuse_endless_device(int file, const std::filesystem::path& path) {
  struct stat info {};
  if (::fstat(file, &info) != 0) return;  // reading will say what is wrong
  if (!S_ISCHR(info.st_mode) && !S_ISBLK(info.st_mode)) return;
  if (S_ISCHR(info.st_mode) && (info.st_rdev == makedev(kNullMajor, kNullMinor) || ::isatty(file) == 1))
    return;
  throw Error(fmt::format("cannot read {}: it is a device, which need not end; give a file or a pipe",
                          in_quotes(path.string())));
}

}  // namespace headroom
