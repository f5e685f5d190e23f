#pragma once

#include <array>
#include <cstdint>

namespace plimsoll {

/// Philox4x32-10, the counter-based generator of Salmon et al., "Parallel random numbers: as easy as 1, 2,
/// 3", SC 2011. A number depends only on its key and counter, never on earlier draws: any thread may draw any
/// number at any time, and running a block again draws the same numbers.
class Philox {
 public:
  using Counter = std::array<uint32_t, 4>;

  explicit constexpr Philox(uint64_t key)
      : key_{static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)} {}

  /// Returns four independent 32-bit numbers.
  constexpr Counter operator()(Counter c) const {
    uint32_t k0 = key_[0];
    uint32_t k1 = key_[1];
    for (int round = 0; round < 10; ++round) {
      const uint64_t p0 = uint64_t{0xD2511F53} * c[0];
      const uint64_t p1 = uint64_t{0xCD9E8D57} * c[2];
      c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(p1),
           static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(p0)};
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
    return c;
  }

 private:
  std::array<uint32_t, 2> key_;
};

/// The use of a random number. It is part of the counter, so that no two uses share a number. Never renumber.
enum class Purpose : uint32_t {
  permutation = 1,
  initial_weights = 2,
  dropout = 3,
  simulation = 4,
  attention_dropout = 5,
  loop_dropout = 6,
  latent_noise = 7,
  id_dropout = 8,
  neighbours = 9,
  walks = 10,
  negative_edges = 11,
  edge_split = 12,
  spanning_trees = 13,
  unrelated_nodes = 14,
  history_lags = 15
};

/// Returns the counter of the numbers 4*quad .. 4*quad+3 in the stream of one (purpose, layer, epoch, item).
/// `layer` must be below 65536. `item` is, for example, the index of a graph in its data set.
constexpr Philox::Counter philox_counter(Purpose purpose, uint32_t layer, uint32_t epoch, uint32_t item,
                                         uint32_t quad) {
  return {quad, item, epoch, static_cast<uint32_t>(purpose) << 16 | layer};
}

/// Converts 32 random bits to a number that is uniform in [0, 1) and has 24 random bits.
constexpr float uniform(uint32_t bits) {
  return static_cast<float>(bits >> 8) * 0x1p-24F;
}

}  // namespace plimsoll
