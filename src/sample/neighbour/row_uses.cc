#include "sample/neighbour/row_uses.h"

#include <algorithm>
#include <cmath>

namespace plimsoll {

RowUses::RowUses(std::span<const uint8_t> uses, int64_t counted_blocks, double nodes) {
  const auto blocks = static_cast<double>(std::max<int64_t>(counted_blocks, 1));
  double counted = 0;
  for (const uint8_t used : uses) ++rows_[used];
  for (size_t used = 1; used < kLevels; ++used) {
    chance_[used] = std::min(static_cast<double>(used) / blocks, 1.0);
    if (used + 1 < kLevels) counted += rows_[used] * static_cast<double>(used);
  }
  // The counters saturate, so the remaining uses belong to the most used rows.
  const double of_most = (blocks * nodes - counted) / blocks / std::max(rows_.back(), 1.0);
  chance_.back() = std::clamp(of_most, chance_.back(), 1.0);
}

RowUses RowUses::without_most_used(int64_t rows) const {
  RowUses others = *this;
  auto left = static_cast<double>(rows);
  for (size_t used = kLevels; used-- > 0 && left > 0;) {
    const double some = std::min(left, others.rows_[used]);
    others.rows_[used] -= some;
    left -= some;
  }
  return others;
}

double RowUses::distinct(double blocks) const {
  constexpr double kAlmostAll = 0.999999;
  double sum = 0;
  for (size_t used = 1; used < kLevels; ++used)
    sum += rows_[used] * -std::expm1(blocks * std::log1p(-std::min(chance_[used], kAlmostAll)));
  return sum;
}

double RowUses::packed(double room) const {
  constexpr double kMaxBlocks = 65536;
  double blocks = 1;
  while (blocks < kMaxBlocks && distinct(2 * blocks) <= room) blocks *= 2;
  for (double step = blocks / 2; step >= blocks / 64; step /= 2)
    if (distinct(blocks + step) <= room) blocks += step;
  return distinct(blocks) / blocks;
}

}  // namespace plimsoll
