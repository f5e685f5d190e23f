#include "ops/normal_noise/normal_noise.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/philox.h"
#include "kernels/cuda.h"
#include "ops/device_layer.h"

namespace plimsoll {

at::Tensor normal_noise(const at::Tensor& like, uint64_t seed, uint32_t epoch, const at::Tensor& item,
                        const at::Tensor& local) {
  const int64_t rows = like.size(0);
  const int64_t channels = like.size(1);
  at::Tensor noise = at::empty({rows, channels}, like.options().dtype(at::kFloat));
  if (like.is_meta()) return noise;
  if (!like.is_cpu()) {
    normal_noise_cuda(seed, epoch, rows, channels, item.const_data_ptr<int64_t>(),
                      local.const_data_ptr<int64_t>(), noise.mutable_data_ptr<float>(),
                      CurrentDeviceScope(like).stream());
    return noise;
  }
  const Philox philox(seed);
  const int64_t quads = (channels + 3) / 4;
  for (int64_t r = 0; r < rows; ++r) {
    const auto graph = static_cast<uint32_t>(item.const_data_ptr<int64_t>()[r]);
    const int64_t first = local.const_data_ptr<int64_t>()[r] * quads;
    float* const to = noise.mutable_data_ptr<float>() + r * channels;
    for (int64_t q = 0; q < quads; ++q) {
      const Philox::Counter bits =
          philox(philox_counter(Purpose::latent_noise, 0, epoch, graph, static_cast<uint32_t>(first + q)));
      float four[4];
      for (size_t pair = 0; pair < 4; pair += 2) {
        // 1 - u is never 0.
        const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform(bits[pair])));
        const double angle = 2.0 * std::numbers::pi * uniform(bits[pair + 1]);
        four[pair] = static_cast<float>(radius * std::cos(angle));
        four[pair + 1] = static_cast<float>(radius * std::sin(angle));
      }
      std::copy_n(four, std::min<int64_t>(4, channels - 4 * q), to + 4 * q);
    }
  }
  return noise;
}

}  // namespace plimsoll
