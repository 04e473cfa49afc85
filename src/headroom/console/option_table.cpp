// SPDX-License-Identifier: Apache-2.0
#include "headroom/console/option_table.h"

#include <algorithm>

#include "headroom/base/text.h"

namespace headroom::cli {

std::vector<std::string> Option::all_names() const {
  std::vector<std::string> all;
  for (std::string name : split(names, ',')) {
    if (name.starts_with('!')) name.erase(0, 1);
    all.push_back(name.substr(0, name.find('{')));
  }
  return all;
}

OptionTable::OptionTable(std::string description, std::string name)
    : description_(std::move(description)), name_(std::move(name)) {}
OptionTable::OptionTable(const OptionTable& other) = default;
OptionTable::~OptionTable() = default;

Option& OptionTable::add(std::string names, OptionTarget target, std::string help) {
  return options_.emplace_back(Option{std::move(names), target, std::move(help)});
}

void OptionTable::add_no_follow() {
  add_flag("--no-follow", no_follow_, "write no file through a symbolic link");
}

void OptionTable::add_color() {
  add_option("--color", color_,
             "colours in tables: auto (on a terminal, unless NO_COLOR is set), always, never")
      .one_of({"auto", "always", "never"});
}

std::size_t OptionTable::count(const std::string& name) const {
  for (const Option& option : options_) {
    const std::vector<std::string> names = option.all_names();
    if (std::ranges::find(names, name) != names.end()) return option.count;
  }
  return 0;
}

}  // namespace headroom::cli
