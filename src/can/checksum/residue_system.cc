#include "can/checksum/residue_system.h"

#include <algorithm>
#include <bit>

namespace plimsoll {
namespace {

// The inverse of an odd number modulo 256. Newton's iteration doubles the number of correct bits, which is
// three at the start.
uint8_t inverse(uint8_t odd) {
  uint8_t x = odd;
  for (int step = 0; step < 2; ++step) x = static_cast<uint8_t>(x * (2 - odd * x));
  return x;
}

}  // namespace

void ResidueSystem::take(Line& from, const Line& line, uint8_t times) const {
  for (size_t k = 0; k < line.row.size(); ++k)
    from.row[k] = static_cast<uint8_t>((from.row[k] - times * line.row[k]) & mask_);
  from.result = static_cast<uint8_t>((from.result - times * line.result) & mask_);
}

// Stores the line under its first entry, scaled so that this entry is a power of two. If the line still has
// other entries when the first one vanishes, the rest is another equation.
void ResidueSystem::put(size_t at, const Line& line) {
  const int twos = std::countr_zero(line.row[at]);
  Line& mine = lines_[at];
  mine = {};
  take(mine, line, static_cast<uint8_t>(-inverse(static_cast<uint8_t>(line.row[at] >> twos))));
  if (twos == 0) return;
  Line rest;
  take(rest, mine, static_cast<uint8_t>(-(1 << (bits_ - twos))));
  reduce(rest);
}

ResidueSystem::Kind ResidueSystem::reduce(Line line) {
  for (size_t at = 0; at < line.row.size(); ++at) {
    if (line.row[at] == 0) continue;
    if (lines_[at].row[at] == 0) {
      put(at, line);
      return Kind::news;
    }
    if (std::countr_zero(line.row[at]) < std::countr_zero(lines_[at].row[at])) {
      const Line before = lines_[at];
      put(at, line);
      reduce(before);
      return Kind::news;
    }
    take(line, lines_[at], static_cast<uint8_t>(line.row[at] >> std::countr_zero(lines_[at].row[at])));
  }
  if (line.result == 0) return Kind::follows;
  solvable_ = false;
  return Kind::contradicts;
}

ResidueSystem::Kind ResidueSystem::add(const Row& values, uint8_t result) {
  if (!solvable_) return Kind::contradicts;
  Line line{values, static_cast<uint8_t>(result & mask_)};
  for (uint8_t& value : line.row) value &= mask_;
  const Kind kind = reduce(line);
  return solvable_ ? kind : Kind::contradicts;
}

std::optional<uint8_t> ResidueSystem::coefficient(int unknown) const {
  const auto at = static_cast<size_t>(unknown);
  if (lines_[at].row[at] != 1) return std::nullopt;
  Line line = lines_[at];
  for (size_t other = at + 1; other < line.row.size(); ++other) {
    if (line.row[other] == 0) continue;
    if (lines_[other].row[other] == 0) return std::nullopt;
    const int twos = std::countr_zero(lines_[other].row[other]);
    if (std::countr_zero(line.row[other]) < twos) return std::nullopt;
    take(line, lines_[other], static_cast<uint8_t>(line.row[other] >> twos));
  }
  return line.result;
}

}  // namespace plimsoll
