#pragma once

#include <vector>

#include "engine/blocks/block_terms.h"
#include "sample/block/block.h"

namespace plimsoll {

/// A small synthetic block and its terms.
struct Probe {
  GraphBlock block;
  BlockTerms terms;
};

/// Makes blocks whose terms are linearly independent, as far as terms of blocks up to `highest` can be, and a
/// few more blocks. A TapeModel is solved from them. All numbers in the blocks are zeros. Each block is as
/// small as a block with its terms can be.
std::vector<Probe> make_probes(const Terms& highest, bool closed, const RowWidths& widths,
                               const CollateOptions& options);

}  // namespace plimsoll
