#pragma once

#include <numeric>
#include <vector>

#include "store/graph_set.h"
#include "store/made_up_sets.h"
#include "support/temp_folder.h"

namespace plimsoll {

/// A data set on disk: by default `graphs` rings of 1,000 nodes, 84 KB each in a batch, 3 node and 2 edge
/// features.
class LoaderSet {
 public:
  explicit LoaderSet(int64_t graphs, int32_t nodes = 1000) {
    GraphColumns columns;
    for (int64_t g = 0; g < graphs; ++g) {
      for (int32_t i = 0; i < nodes; ++i) {
        columns.edges.insert(columns.edges.end(), {i, (i + 1) % nodes});
        for (int32_t feature = 0; feature < 3; ++feature)
          columns.x.push_back(static_cast<float>(g + feature));
        columns.edge_attr.insert(columns.edge_attr.end(), {static_cast<float>(g), 1.0F});
      }
      columns.node_ptr.push_back(columns.node_ptr.back() + nodes);
      columns.edge_ptr.push_back(columns.edge_ptr.back() + nodes);
      columns.y.push_back(g);
    }
    write(columns);
  }
  explicit LoaderSet(const GraphColumns& columns) { write(columns); }

  std::shared_ptr<const GraphSetView> open() const {
    return std::make_shared<const GraphSetView>(folder_ / "set");
  }

 private:
  void write(const GraphColumns& columns) {
    GraphSetTables tables = made_up_tables();
    tables.splits = {tables.splits.front()};
    tables.splits[0].graphs = columns.spans().graphs();
    tables.recordings.clear();
    write_made_up_graphs(folder_ / "set", columns, tables);
  }
  TempFolder folder_;
};

inline std::vector<int64_t> first_numbers(int64_t count) {
  std::vector<int64_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

}  // namespace plimsoll
