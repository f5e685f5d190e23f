#include "windows/node_ids.h"

#include "windows/behaviour_windows.h"
#include "windows/compat_graph.h"

namespace plimsoll {

std::vector<uint32_t> node_ids(const WindowSource& windows, int64_t graph) {
  if (const auto* behaviour = dynamic_cast<const BehaviourWindows*>(&windows))
    return behaviour->node_ids(graph);
  return compat_node_ids(windows.frames(graph).can_id, Vocabulary(windows.tables().vocabulary));
}

}  // namespace plimsoll
