#pragma once

#include <string>

#include "kernels/product/product.h"
#include "memory/vector.h"
#include "store/safetensors.h"

namespace plimsoll {

inline size_t size(int64_t numbers) {
  return static_cast<size_t>(numbers);
}

/// The values of a model's tensor, which must be finite F32 of this shape. Errors: InputError that names file
/// and tensor, its dtype and shape, and what was expected.
std::span<const float> values_of(const SafetensorsView& file, const std::string& name,
                                 const std::vector<int64_t>& shape);

/// y = x W^T + b of a model, packed for the current processor. Immutable: any number of threads may use it.
class PackedLinear {
 public:
  PackedLinear() = default;
  /// `weight` is F32 [out, in], `bias` F32 [out]; an empty name of `bias` means no bias.
  /// Errors: BudgetExceeded, and those of values_of().
  PackedLinear(const SafetensorsView& file, const std::string& weight, const std::string& bias, int64_t in,
               int64_t out);

  /// Maps x [rows, in] to y [rows, out].
  void forward(const float* x, int64_t rows, float* y) const;
  int64_t out() const { return out_; }

 private:
  int64_t in_ = 0;
  int64_t out_ = 0;
  Vector<float, Tag::parameters> packed_;
  Vector<float, Tag::parameters> bias_;
};

}  // namespace plimsoll
