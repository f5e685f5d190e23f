#include "kernels/neighbour_attention/neighbour_attention.h"

#include "kernels/levels.h"

namespace plimsoll {

PLIMSOLL_DECLARE_LEVELS(neighbour_attention_f32, NeighbourAttentionKernels<float>)
PLIMSOLL_DECLARE_LEVELS(neighbour_attention_f64, NeighbourAttentionKernels<double>)

template <>
const NeighbourAttentionKernels<float>& neighbour_attention_kernels(Level level) {
  return PLIMSOLL_AT_LEVEL(level, neighbour_attention_f32);
}

template <>
const NeighbourAttentionKernels<double>& neighbour_attention_kernels(Level level) {
  return PLIMSOLL_AT_LEVEL(level, neighbour_attention_f64);
}

}  // namespace plimsoll
