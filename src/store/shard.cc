#include "store/shard.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "base/error.h"

namespace plimsoll {

Shard Shard::parse(const std::string& text) {
  Shard shard;
  const char* const end = text.data() + text.size();
  const auto [slash, number] = std::from_chars(text.data(), end, shard.number);
  constexpr int64_t kMax = 100'000;
  if (number == std::errc() && slash != end && *slash == '/') {
    const auto [rest, error] = std::from_chars(slash + 1, end, shard.shards);
    if (error == std::errc() && rest == end && shard.shards >= 1 && shard.shards <= kMax &&
        shard.number >= 1 && shard.number <= shard.shards)
      return shard;
  }
  throw UsageError("--shard is '" + text + "', expected I/N with I from 1 to N, such as 2/8");
}

std::pair<size_t, size_t> Shard::items(std::span<const int64_t> weights) const {
  const auto total = static_cast<double>(std::accumulate(weights.begin(), weights.end(), int64_t{0}));
  std::pair<size_t, size_t> range{0, 0};
  double before = 0;
  for (const int64_t weight : weights) {
    // An item belongs to the shard that contains its middle, so that shards are consecutive.
    const double middle = before + static_cast<double>(weight) / 2;
    before += static_cast<double>(weight);
    const int64_t at = total > 0 ? static_cast<int64_t>(middle / total * static_cast<double>(shards)) + 1 : 1;
    range.first += std::min(at, shards) < number ? 1 : 0;
    range.second += std::min(at, shards) <= number ? 1 : 0;
  }
  return range;
}

std::pair<int64_t, int64_t> Shard::items(int64_t count) const {
  // The product fits in 64 bits, because a set has less than 2^46 graphs.
  return {count * (number - 1) / shards, count * number / shards};
}

Json Shard::to_json(const std::string& all) const {
  return {{"number", number}, {"of", shards}, {"all", all}};
}

}  // namespace plimsoll
