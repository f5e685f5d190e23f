#include "sample/typed/history_ends.h"

#include <algorithm>

#include "sample/seeds/draws.h"

namespace plimsoll {

HistoryEnds::HistoryEnds(const TaskSeeds& seeds, const Options& options)
    : seeds_(seeds),
      options_(options),
      training_(*std::ranges::find(seeds.splits(), TaskSeeds::kTrain, &TaskSeeds::Split::name)) {
  for (int64_t seed = 0; options.lagged && seed < seeds.seeds() && !has_lags_; ++seed)
    has_lags_ = !seeds.is_training(seed) && own_end(seed) < seeds.time(seed);
}

int64_t HistoryEnds::own_end(int64_t seed) const {
  return std::min(seeds_.time(seed), options_.last_time);
}

int64_t HistoryEnds::end(int64_t seed, uint32_t sample) const {
  if (!has_lags_ || !seeds_.is_training(seed)) return own_end(seed);
  return std::min(seeds_.time(seed) - drawn_lag(seed, sample), options_.last_time);
}

int64_t HistoryEnds::drawn_lag(int64_t seed, uint32_t sample) const {
  const uint64_t key = typed_key(item_key(options_.seed, Purpose::history_lags, sample, seeds_.node(seed)),
                                 Purpose::history_lags, /*type=*/0, seeds_.time(seed));
  Draws draws(key, Purpose::history_lags, /*part=*/0);
  auto other = static_cast<int64_t>(draws.below(static_cast<uint64_t>(seeds_.seeds() - training_.count)));
  if (other >= training_.first) other += training_.count;
  return seeds_.time(other) - own_end(other);
}

}  // namespace plimsoll
