// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace headroom {

class FileTree {
 public:
  FileTree() {
    std::string name = std::filesystem::temp_directory_path() / "headroom_tree_XXXXXX";
    root_ = ::mkdtemp(name.data());
  }
  ~FileTree() {
    std::error_code error;
    std::filesystem::remove_all(root_, error);
  }
  FileTree(const FileTree&) = delete;
  FileTree& operator=(const FileTree&) = delete;

  const std::filesystem::path& root() const { return root_; }
  FileTree& file(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
    return *this;
  }

 private:
  std::filesystem::path root_;
};

}  // namespace headroom
