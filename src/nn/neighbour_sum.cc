#include "nn/neighbour_sum.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

namespace plimsoll {

void NeighbourSum::add(const NeighbourSum& chunk) {
  if (chunk.edges == 0) return;
  if (edges == 0) {
    *this = chunk;
    return;
  }
  edges += chunk.edges;
  if (!highest.defined()) {
    sum = sum + chunk.sum;
    return;
  }
  const at::Tensor common = at::maximum(highest, chunk.highest);
  const at::Tensor before = at::exp(highest - common);
  const at::Tensor added = at::exp(chunk.highest - common);
  sum = sum * before + chunk.sum * added;
  weight = weight * before + chunk.weight * added;
  highest = common;
  if (edge_attr.defined()) edge_attr = edge_attr + chunk.edge_attr;
}

NeighbourSum sum_of_attention(const at::Tensor& out, const at::Tensor& highest, const at::Tensor& scale,
                              const at::Tensor& edge_attr, int64_t edges) {
  if (edges == 0) return {};
  const int64_t heads = highest.size(1);
  NeighbourSum sum{.highest = highest.to(at::kDouble).view({heads, 1}),
                   .weight = scale.to(at::kDouble).reciprocal_().view({heads, 1}),
                   .edges = edges};
  sum.sum = out.to(at::kDouble).view({heads, -1}) * sum.weight;
  if (edge_attr.defined()) sum.edge_attr = edge_attr.sum(0, /*keepdim=*/true, at::kDouble);
  return sum;
}

}  // namespace plimsoll
