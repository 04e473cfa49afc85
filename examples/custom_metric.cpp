// SPDX-License-Identifier: Apache-2.0
// A custom metric over a text and an integer axis: tokens per second and token count of a toy tokenizer. The
// first `metric` is the one that tables show and targets refer to.
#include <string>

#include "headroom/experiment/registry.h"
#include "headroom/experiment/state.h"

namespace {

std::string make_text(const std::string& kind, std::size_t bytes) {
  const std::string word = kind == "words" ? "headroom " : "a,b;c ";
  std::string text;
  while (text.size() < bytes) text += word;
  return text;
}

std::size_t count_tokens(const std::string& text) {
  std::size_t tokens = 0;
  bool in_token = false;
  for (const char c : text) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (is_letter && !in_token) ++tokens;
    in_token = is_letter;
  }
  return tokens;
}

void tokenize(headroom::State& state) {
  const std::string text = make_text(state.text("kind"), static_cast<std::size_t>(state.integer("bytes")));
  const auto tokens = static_cast<double>(count_tokens(text));
  state.rate("token_per_sec", tokens, "tokens/s");
  state.value("tokens", tokens, "tokens", headroom::Direction::kHigherIsBetter);
  state.measure([&] { headroom::keep(count_tokens(text)); });
}
HEADROOM_EXPERIMENT(tokenize)
    .summary("letters to tokens")
    .axis("kind", {"words", "punctuation"})
    .axis("bytes", {10000, 1000000})
    .metric("token_per_sec");

}  // namespace
