#pragma once

#include <vector>

#include "sample/block.h"
#include "train/block_terms.h"

namespace plimsoll {

/// A small made-up block and its terms.
struct Probe {
  GraphBlock block;
  BlockTerms terms;
};

/// Blocks whose terms are linearly independent as far as those of blocks up to `highest` can be, and a few
/// more: what a TapeModel is solved from. Their nodes have `node_features` zeros. They are as small as can
/// be: none is larger than a block that has the same terms.
std::vector<Probe> make_probes(const Terms& highest, bool closed, int64_t node_features,
                               int64_t edge_features, const CollateOptions& options);

}  // namespace plimsoll
