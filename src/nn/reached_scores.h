#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "nn/batch.h"
#include "nn/edge_type_conv.h"
#include "nn/linear.h"
#include "nn/parameters.h"

namespace plimsoll {

/// Scores of the nodes that can be recommended and that occur in the sample of a seed, as in ID-GNN (You et
/// al., AAAI 2021), which RelBench's models of recommendation use. A node d that the sample of seed s reaches
/// has the score
///
///   out(relu(norm(root(h_d) + sum over edge types of W m_d + b))) + sum over edge types of c log(1 + n_d)
///
/// where h_d is its encoding, m_d the sum of the first layer's outputs over the nodes of the sample to which
/// edges of the type lead from d, and n_d the number of these edges. A node occurs once in the sample of a
/// seed, so it has one score.
///
/// Parameters: reached.root.*, reached.convs.EDGE_TYPE.lin_l.*, reached.norm.*, reached.out.*,
/// reached.counts.weight [1, edge types].
class ReachedScores {
 public:
  /// An edge type of the batch whose sources are these nodes.
  struct EdgeType {
    std::string name;
    size_t number = 0;  ///< Index among the edge types of the batch.
    size_t target = 0;  ///< Index of the target among the node types of the batch.
  };
  ReachedScores(ParameterList& parameters, int64_t channels, std::vector<EdgeType> edges);

  /// Returns scores [G, D] of all nodes plus the scores of the nodes that samples reach. `encoded` [R,
  /// channels] are the encodings of these nodes; `layer` has the outputs of the first layer for each node
  /// type. Thread-safe.
  at::Tensor add(const at::Tensor& scores, const at::Tensor& encoded, const std::vector<at::Tensor>& layer,
                 const TypedBatch& batch) const;

 private:
  at::Tensor scores_of(const at::Tensor& encoded, const std::vector<at::Tensor>& layer,
                       const TypedBatch& batch) const;

  std::vector<EdgeType> edges_;
  std::vector<EdgeTypeConv> convs_;  // One per edge type.
  Linear root_, out_, counts_;
  at::Tensor norm_weight_, norm_bias_;
};

}  // namespace plimsoll
