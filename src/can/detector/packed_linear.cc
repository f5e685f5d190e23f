#include "can/detector/packed_linear.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/error.h"
#include "base/json.h"

namespace plimsoll {

std::span<const float> values_of(const SafetensorsView& file, const std::string& name,
                                 const std::vector<int64_t>& shape) {
  const TensorSpan& tensor = file.tensor(name);
  if (tensor.dtype != "F32" || tensor.shape != shape)
    throw InputError(fmt::format("{}: tensor '{}' is {} {}, expected F32 {}; train the model again",
                                 file.path(), name, tensor.dtype, Json(tensor.shape).dump(),
                                 Json(shape).dump()));
  if (reinterpret_cast<uintptr_t>(tensor.data.data()) % alignof(float) != 0)
    throw InputError(
        fmt::format("{}: tensor '{}' does not begin at a multiple of {} bytes; train the model again",
                    file.path(), name, alignof(float)));
  const std::span values(reinterpret_cast<const float*>(tensor.data.data()),
                         tensor.data.size() / sizeof(float));
  // Non-finite values would make scores NaN, which is not above any threshold.
  if (!std::ranges::all_of(values, [](float value) { return std::isfinite(value); }))
    throw InputError(
        fmt::format("{}: tensor '{}' holds a value that is not a finite number; train the model again",
                    file.path(), name));
  return values;
}

PackedLinear::PackedLinear(const SafetensorsView& file, const std::string& weight, const std::string& bias,
                           int64_t in, int64_t out)
    : in_(in), out_(out) {
  const auto values = values_of(file, weight, {out, in});
  const ProductKernels<float>& kernels = product_kernels<float>(kernel_level());
  packed_.resize(static_cast<size_t>(product_size(kernels, in, out)));
  kernels.pack(values.data(), in, out, in, packed_.data());
  if (bias.empty()) return;
  const auto added = values_of(file, bias, {out});
  bias_.assign(added.begin(), added.end());
}

void PackedLinear::forward(const float* x, int64_t rows, float* y) const {
  product_kernels<float>(kernel_level())
      .multiply({x, in_}, rows, packed_.data(), in_, out_, bias_.empty() ? nullptr : bias_.data(), y, {});
}

}  // namespace plimsoll
