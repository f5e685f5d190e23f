#include "kernels/dropout.h"

namespace plimsoll {

void dropout_factors(const Philox& seed, uint32_t layer, uint32_t epoch, double p, int64_t rows,
                     int64_t channels, const int64_t* item, const int64_t* local, float* factors) {
  const auto dropped_below = static_cast<uint32_t>(p * 0x1p32);
  const auto kept = static_cast<float>(1.0 / (1.0 - p));
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t first = local[row] * channels;
    Philox::Counter bits{};
    for (int64_t c = 0; c < channels; ++c) {
      const auto element = static_cast<uint64_t>(first + c);
      if (c == 0 || element % 4 == 0)
        bits = seed(philox_counter(Purpose::dropout, layer, epoch, static_cast<uint32_t>(item[row]),
                                   static_cast<uint32_t>(element / 4)));
      factors[row * channels + c] = bits[element % 4] < dropped_below ? 0.0F : kept;
    }
  }
}

}  // namespace plimsoll
