#pragma once

#include <vector>

#include "engine/blocks/block_terms.h"
#include "sample/block/block.h"

namespace plimsoll {

/// A small made-up block and its terms.
struct Probe {
  GraphBlock block;
  BlockTerms terms;
};

/// Makes blocks whose terms are linearly independent, as far as terms of blocks up to `highest` can be, and a
/// few more. A TapeModel is solved from them. All their numbers are zeros. They are as small as possible:
/// none is larger than a block that has the same terms.
std::vector<Probe> make_probes(const Terms& highest, bool closed, const RowWidths& widths,
                               const CollateOptions& options);

}  // namespace plimsoll
