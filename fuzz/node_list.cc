#include "tasks/gnn/node_list.h"

#include <vector>

#include "base/number_text.h"
#include "fuzz/property.h"
#include "fuzz/scratch.h"

namespace plimsoll {
namespace {

// A graph of four nodes without edges, with names or with IDs.
std::filesystem::path make_graph(const std::string& name, bool names) {
  GraphWriter writer(Scratch::folder() / name, false);
  writer.append_row_ends(std::vector<int64_t>(4, 0));
  writer.append_indices(std::span<const uint32_t>());
  writer.append_node_id(names ? std::vector<int64_t>{2, 0, 3, 1}
                              : std::vector<int64_t>{-5, 7, 70, 1LL << 60});
  if (names)
    for (const char* text : {"a", "b c", "7", "\xC3\xA9"}) writer.append_node_name(text);
  writer.publish({.direction = EdgeDirection::in}, make_provenance("made up", {}));
  return Scratch::folder() / name;
}

void expect_the_node(const GraphView& graph, int64_t node, std::string_view line) {
  expect(node >= 0 && node < graph.nodes(), "a row is a node of the graph");
  if (graph.has_names())
    expect(name_of_node(graph, node) == line, "a row is the node with the name on its line");
  else
    expect(parse_number<int64_t>(line) == graph.id(node), "a row is the node with the ID on its line");
}

}  // namespace
}  // namespace plimsoll

// Nodes to predict, one a line. The first line is "names" for a graph whose nodes have names. The list is
// refused, or each of its lines is a row.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll;
  static const GraphView with_names(make_graph("names", true));
  static const GraphView with_ids(make_graph("ids", false));
  Ledger::process().set_cap(24 << 20);
  std::string_view text = text_of(data, size);
  const GraphView& graph = take_line(text) == "names" ? with_names : with_ids;
  const std::filesystem::path file = Scratch::write("nodes.txt", text);
  succeeds([&] {
    size_t row = 0;
    const auto nodes = read_node_list(file, graph);
    while (!text.empty()) {
      std::string_view line = take_line(text);
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (line.empty()) continue;
      expect(row < nodes.size(), "each line is a row");
      expect_the_node(graph, nodes[row++], line);
    }
    expect(row == nodes.size(), "each row has a line");
  });
  return 0;
}
