// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace headroom {

/// The whole file. Throws Error (missing, a directory, an endless device, not readable) naming the path.
std::string read_file(const std::filesystem::path& path);

/// Writes `content` so that at any moment the path holds either what it held before or all of `content`:
/// temporary file in the same folder, fsync, rename, fsync of the folder. Missing parent folders are made.
/// A path that is a symbolic link keeps being one: its target is replaced; one that another user planted in a
/// folder with the sticky bit is refused. A device or a pipe (/dev/stdout)
/// is written directly. Throws Error naming the path and the reason.
void write_file_atomically(const std::filesystem::path& path, std::string_view content);

/// Makes the names in the folder of `path` survive a power failure, where the file system can. Throws Error.
void sync_folder_of(const std::filesystem::path& path);

/// From here on nothing is written through a symbolic link, of a file or of a folder in its path.
void never_follow_links();

/// Throws Error, without creating anything, unless write_file_atomically(path) could work: asked before hours
/// of measuring, not after.
void require_writable(const std::filesystem::path& path);

/// Absolute path of the running executable.
std::filesystem::path this_executable();

}  // namespace headroom
