// SPDX-License-Identifier: Apache-2.0
// Included within a namespace, once per Highway target: hence no guard and no includes.

/// Kernel::dot<kRows, kAhead> multiplies kRows rows of Kernel::Weight with prepared x: each step takes whole
/// cache lines, prefetches each once, and uses enough sums to hide the latency of additions.
template <typename Kernel, int kRows, PrefetchHint kAhead>
void multiply_as(const std::byte* weights, std::size_t rows, std::size_t columns, const std::byte* prepared,
                 GemvWalk walk, float* y) {
  using Weight = typename Kernel::Weight;
  const auto* first = reinterpret_cast<const Weight*>(weights);
  const RowGroups groups(rows, walk.apart);
  for (std::size_t group = 0; group < groups.count(); ++group) {
    const FourRows four = groups.at(group);
    const Weight* lines[4];
    HEADROOM_UNROLL(4)
    for (int i = 0; i < 4; ++i) lines[i] = first + four.row[i] * columns;
    float sums[4];
    HEADROOM_UNROLL(4)
    for (int i = 0; i < 4; i += kRows) {
      Kernel::template dot<kRows, kAhead>(lines + i, columns, prepared, walk.ahead, sums + i);
    }
    four.store(sums, y);
  }
}

template <typename Kernel, int kRows>
void multiply_rows(const std::byte* weights, std::size_t rows, std::size_t columns, const std::byte* prepared,
                   GemvWalk walk, float* y) {
  if (walk.ahead == 0) {
    multiply_as<Kernel, kRows, PrefetchHint::kNone>(weights, rows, columns, prepared, walk, y);
  } else if (kRows == 1 && walk.into == PrefetchLevel::kFirstCache) {
    multiply_as<Kernel, 1, PrefetchHint::kNontemporal>(weights, rows, columns, prepared, walk, y);
  } else if (walk.into == PrefetchLevel::kLargerCaches) {
    multiply_as<Kernel, kRows, PrefetchHint::kLargerCaches>(weights, rows, columns, prepared, walk, y);
  } else {
    multiply_as<Kernel, kRows, PrefetchHint::kAllCaches>(weights, rows, columns, prepared, walk, y);
  }
}

template <typename Kernel>
void multiply(const std::byte* weights, std::size_t rows, std::size_t columns, const std::byte* prepared,
              GemvWalk walk, float* y) {
  walk = effective_walk(walk);
  if (walk.rows >= 4) return multiply_rows<Kernel, 4>(weights, rows, columns, prepared, walk, y);
  if (walk.rows >= 2) return multiply_rows<Kernel, 2>(weights, rows, columns, prepared, walk, y);
  multiply_rows<Kernel, 1>(weights, rows, columns, prepared, walk, y);
}
