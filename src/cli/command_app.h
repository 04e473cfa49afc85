// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>

namespace headroom::cli {

/// The options of a command. Of an option that is given twice the last one holds, so that an alias or a
/// script can be overruled; those that take several values say so (take_all), and so do those that refuse it.
class CommandApp : public CLI::App {
 public:
  CommandApp(std::string description, std::string name) : CLI::App(std::move(description), std::move(name)) {
    option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
};

}  // namespace headroom::cli
