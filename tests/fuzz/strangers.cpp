// SPDX-License-Identifier: Apache-2.0
// Fuzzes one kind of untrusted input (tests/unit/strangers): --input=results. --write-seeds=FOLDER only
// writes valid inputs.
#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "../unit/strangers/inputs.h"

namespace {

using headroom::strangers::Input;

const Input* chosen = nullptr;

std::optional<std::string_view> value_of(std::string_view option, int count, char** arguments) {
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument.starts_with(option)) return argument.substr(option.size());
  }
  return std::nullopt;
}

void write_seeds(const Input& input, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  int number = 0;
  for (const std::string& seed : input.seeds())
    std::ofstream(folder / std::to_string(number++), std::ios::binary) << seed;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  const auto name = value_of("--input=", *count, *arguments);
  for (const Input& input : headroom::strangers::inputs()) {
    if (name == input.name) chosen = &input;
  }
  if (chosen == nullptr) {
    fmt::print(stderr, "usage: fuzz_strangers --input=NAME [LIBFUZZER OPTION...] [CORPUS...]\n");
    std::exit(2);
  }
  if (const auto folder = value_of("--write-seeds=", *count, *arguments)) {
    write_seeds(*chosen, *folder);
    std::exit(0);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  chosen->take({reinterpret_cast<const char*>(data), size});
  return 0;
}
