#include "can/tasks/unknown_ids.h"

#include <algorithm>

namespace plimsoll {
namespace {

std::vector<int64_t> columns_of(const std::vector<std::string>& names,
                                const std::vector<std::string>& selected) {
  std::vector<int64_t> columns;
  for (size_t c = 0; c < names.size(); ++c)
    if (std::ranges::find(selected, names[c]) != selected.end()) columns.push_back(static_cast<int64_t>(c));
  return columns;
}

}  // namespace

UnknownIds unknown_ids(const GraphSetTables& tables, const std::vector<std::string>& without) {
  const bool hidden = std::ranges::find(without, "id_index") != without.end();
  return {.index = hidden ? 0 : static_cast<int64_t>(tables.vocabulary.size()),
          .node_columns = columns_of(tables.node_features, tables.of_known_ids),
          .edge_columns = columns_of(tables.edge_features, tables.of_known_ids)};
}

}  // namespace plimsoll
