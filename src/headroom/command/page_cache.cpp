// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/page_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <sstream>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/process/descriptor.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDropFile = "/proc/sys/vm/drop_caches";

Descriptor open_to_read(const fs::path& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.is_open()) return file;
  throw Error(fmt::format("cannot open {} for its place in the page cache: {}", in_quotes(path.string()),
                          std::strerror(errno)));
}

void for_each_file(const fs::path& path, const std::function<void(const fs::path&)>& body) {
  if (!fs::is_directory(path)) return body(path);
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    if (entry.is_regular_file() && !entry.is_symlink()) body(entry.path());
  }
}

std::uint64_t resident_bytes(const fs::path& path) {
  const Descriptor file = open_to_read(path);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0 || info.st_size <= 0) return 0;
  const auto size = static_cast<std::size_t>(info.st_size);
  void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED)
    throw Error("cannot map " + in_quotes(path.string()) + ": " + std::strerror(errno));
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages((size + page - 1) / page);
  const bool told = ::mincore(mapped, size, pages.data()) == 0;
  ::munmap(mapped, size);
  if (!told) return 0;
  const auto resident = std::ranges::count_if(pages, [](unsigned char flags) { return (flags & 1U) != 0; });
  return std::min<std::uint64_t>(size, static_cast<std::uint64_t>(resident) * page);
}

}  // namespace

void drop_pages_of(const fs::path& path) {
  for_each_file(path, [](const fs::path& file_path) {
    const Descriptor file = open_to_read(file_path);
    ::fdatasync(file.get());
    ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
  });
}

ResidentPages resident_pages_of(const fs::path& path) {
  ResidentPages pages;
  for_each_file(path, [&](const fs::path& file) {
    const std::uint64_t bytes = resident_bytes(file);
    pages.files += bytes > 0 ? 1 : 0;
    pages.bytes += bytes;
  });
  return pages;
}

std::string why_not_drop_all_pages() {
  const Descriptor file(::open(kDropFile, O_WRONLY | O_CLOEXEC));
  return file.is_open() ? "" : fmt::format("{}: {}", kDropFile, std::strerror(errno));
}

void drop_all_pages() {
  ::sync();
  const Descriptor file(::open(kDropFile, O_WRONLY | O_CLOEXEC));
  if (!file.is_open() || ::write(file.get(), "3\n", 2) != 2) {
    throw Error(fmt::format("cannot drop the page cache: {}: {}", kDropFile, std::strerror(errno)));
  }
}

std::uint64_t all_cached_bytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    std::uint64_t kib = 0;
    if (words >> name >> kib && name == "Cached:") return kib * 1024;
  }
  return 0;
}

}  // namespace headroom
