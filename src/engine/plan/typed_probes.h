#pragma once

#include <functional>

#include "engine/plan/probes.h"
#include "sample/block/block.h"

namespace plimsoll {

/// Calls probe() with small blocks of samples with node types, from which the sizes of tensors in other
/// blocks are solved. There are enough blocks to distinguish each count of the layout from the others.
void visit_typed_probes(const RowWidths& widths, const std::function<void(const Probe&)>& probe);

}  // namespace plimsoll
