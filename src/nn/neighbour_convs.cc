#include "nn/neighbour_convs.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "ops/aggregate.h"

namespace plimsoll {

GCNConv::GCNConv(ParameterList& parameters, const std::string& prefix, int64_t in, int64_t out)
    : weight_(parameters.add(prefix + ".lin.weight", {out, in}, Init::glorot(in, out))),
      bias_(parameters.add(prefix + ".bias", {out}, Init::zeros())) {}

at::Tensor GCNConv::forward(const at::Tensor& x, const Batch& batch) const {
  const at::Tensor z = at::mm(x, weight_.t());
  const at::Tensor degree =
      batch.degrees.defined() ? batch.degrees + 1 : in_degrees(batch.edge_order, x.size(0)).add_(1);
  const at::Tensor root = degree.rsqrt();
  const at::Tensor neighbours = aggregate(z, batch.edge_order, root, root);
  return neighbours + z * degree.reciprocal_().unsqueeze(1) + bias_;
}

SAGEConv::SAGEConv(ParameterList& parameters, const std::string& prefix, int64_t in, int64_t out)
    : neighbours_(parameters, prefix + ".lin_l", in, out),
      self_(parameters, prefix + ".lin_r", in, out, /*bias=*/false) {}

at::Tensor SAGEConv::forward(const at::Tensor& x, const Batch& batch) const {
  const at::Tensor share = in_degrees(batch.edge_order, x.size(0)).clamp_min_(1).reciprocal_();
  return neighbours_.forward(aggregate(x, batch.edge_order, {}, share)) + self_.forward(x);
}

GINConv::GINConv(ParameterList& parameters, const std::string& prefix, int64_t in, int64_t out)
    : first_(parameters, prefix + ".nn.0", in, out), second_(parameters, prefix + ".nn.2", out, out) {}

at::Tensor GINConv::forward(const at::Tensor& x, const Batch& batch) const {
  return second_.forward(at::relu(first_.forward(x + aggregate(x, batch.edge_order, {}, {}))));
}

}  // namespace plimsoll
