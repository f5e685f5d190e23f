#include "nn/hgt_conv.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <cmath>
#include <numbers>
#include <utility>

#include "ops/neighbour_attention/neighbour_attention.h"

namespace plimsoll {
namespace {

// Torch's gelu compiles code for each shape on each thread, and keeps it in memory that no plan knows.
at::Tensor exact_gelu(const at::Tensor& x) {
  return x * (at::erf(x * (std::numbers::sqrt2 / 2)) + 1) * 0.5;
}

}  // namespace

HgtSource::HgtSource(ParameterList& parameters, const std::string& prefix, const std::string& type,
                     int64_t channels)
    : key(parameters, prefix + ".k_lin." + type, channels, channels),
      value(parameters, prefix + ".v_lin." + type, channels, channels) {}

HgtConv::HgtConv(std::string type, int64_t channels, int64_t heads)
    : type_(std::move(type)), channels_(channels), heads_(heads) {}

void HgtConv::add_edges(ParameterList& parameters, const std::string& prefix, const EdgeType& edges,
                        const HgtSource& source) {
  if (relations_.empty()) {
    query_ = Linear(parameters, prefix + ".q_lin." + type_, channels_, channels_);
    out_ = Linear(parameters, prefix + ".out_lin." + type_, channels_, channels_);
    skip_ = parameters.add(prefix + ".skip." + type_, {1}, Init::constant(1));
  }
  const int64_t of_head = channels_ / heads_;
  const auto relation = [&](const std::string& name) {
    return parameters.add(prefix + name + edges.name, {heads_, of_head, of_head}, Init::linear(of_head));
  };
  relations_.push_back(
      {.order = edges.order,
       .source = edges.source,
       .projections = source,
       .k_rel = relation(".k_rel."),
       .v_rel = relation(".v_rel."),
       .p_rel = parameters.add(prefix + ".p_rel." + edges.name, {1, heads_}, Init::constant(1))});
}

// Computes (x W^T + b) R for each head as one product, x (R^T W)^T + b R, so that no tensor by nodes is
// needed between the two.
at::Tensor HgtConv::project(const Linear& linear, const at::Tensor& relation, const at::Tensor& x) const {
  const int64_t of_head = channels_ / heads_;
  const at::Tensor weight =
      at::bmm(relation.transpose(1, 2), linear.weight().view({heads_, of_head, channels_}));
  const at::Tensor bias = (linear.bias().view({heads_, of_head, 1}) * relation).sum(1);
  return at::linear(x, weight.view({channels_, channels_}), bias.view({channels_}));
}

// The softmax over the edges of one type, and the logarithm of its sum, make the softmax over all types: the
// result of a type has a share of exp(log_sum).
at::Tensor HgtConv::attend(const std::vector<at::Tensor>& h, const at::Tensor& query,
                           const std::vector<at::Tensor>& orders) const {
  const int64_t of_head = channels_ / heads_;
  std::vector<at::Tensor> results, log_sums;
  for (const Relation& relation : relations_) {
    const at::Tensor& x = h[relation.source];
    const at::Tensor scale = (relation.p_rel / std::sqrt(static_cast<double>(of_head))).view({heads_, 1, 1});
    const NeighbourAttentionTensors in = {.key = project(relation.projections.key, relation.k_rel * scale, x),
                                          .value = project(relation.projections.value, relation.v_rel, x),
                                          .query = query,
                                          .order = orders[relation.order],
                                          .att = {}};
    const NeighbourAttentionOutput result = neighbour_attention(in, heads_, /*slope=*/0);
    results.push_back(result.out.view({-1, heads_, of_head}));
    log_sums.push_back(result.log_sum);
  }
  if (results.size() == 1) return results[0].view({-1, channels_});
  const std::vector<at::Tensor> shares = at::softmax(at::stack(log_sums), 0).unbind(0);
  at::Tensor out = results[0] * shares[0].unsqueeze(2);
  for (size_t i = 1; i < results.size(); ++i) out = out + results[i] * shares[i].unsqueeze(2);
  return out.view({-1, channels_});
}

at::Tensor HgtConv::forward(const std::vector<at::Tensor>& h, const at::Tensor& targets,
                            const std::vector<at::Tensor>& orders) const {
  if (relations_.empty()) return targets;
  const at::Tensor out = out_.forward(exact_gelu(attend(h, query_.forward(targets), orders)));
  const at::Tensor share = at::sigmoid(skip_);
  return out * share + targets * (1 - share);
}

}  // namespace plimsoll
