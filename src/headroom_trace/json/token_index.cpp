// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/json/token_index.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <new>

#include "headroom/base/error.h"

namespace headroom::trace::readers {

namespace {

/// Loads simdjson.
const simdjson::implementation& implementation() {
  using Get = decltype(&simdjson::get_active_implementation);
  static const Get get = [] {
    void* library = ::dlopen(HEADROOM_SIMDJSON, RTLD_NOW | RTLD_LOCAL);
    void* symbol =
        library == nullptr ? nullptr : ::dlsym(library, "_ZN8simdjson25get_active_implementationEv");
    if (symbol == nullptr) {
      throw Error(fmt::format(
          "cannot read traces: cannot load the library {} ({}); install it (Debian: package libsimdjson-dev)",
          HEADROOM_SIMDJSON, ::dlerror()));
    }
    return reinterpret_cast<Get>(symbol);
  }();
  return *get();
}

}  // namespace

struct TokenIndex::Parser {
  std::unique_ptr<simdjson::internal::dom_parser_implementation> stages;
};

TokenIndex::TokenIndex() : parser_(std::make_unique<Parser>()) {}
TokenIndex::~TokenIndex() = default;

std::span<const std::uint32_t> TokenIndex::find(std::string_view text) {
  auto& stages = parser_->stages;
  if (!stages || stages->capacity() < text.size()) {
    constexpr std::size_t kNoNesting = 1;  // only the second stage tracks depth
    const std::size_t capacity = std::max<std::size_t>(text.size(), 1) + text.size() / 4;
    const auto error = implementation().create_dom_parser_implementation(
        std::min<std::size_t>(capacity, simdjson::SIMDJSON_MAXSIZE_BYTES), kNoNesting, stages);
    if (error != simdjson::SUCCESS) throw std::bad_alloc();
  }
  const auto error = stages->stage1(reinterpret_cast<const std::uint8_t*>(text.data()), text.size(),
                                    simdjson::stage1_mode::regular);
  if (error != simdjson::SUCCESS) return {};
  return {stages->structural_indexes.get(), stages->n_structural_indexes + 1};
}

}  // namespace headroom::trace::readers
