#include <fmt/format.h>

#include "fuzz/tu.h"

namespace plimsoll {
namespace {

// The graphs of a set of one-hot tags as a text again.
std::string text_of(const GraphSetView& view) {
  const GraphSpans& graphs = view.graphs();
  std::string text = fmt::format("{}\n", graphs.graphs());
  for (size_t g = 0; g < graphs.y.size(); ++g) {
    text += fmt::format("{} {}\n", graphs.node_ptr[g + 1] - graphs.node_ptr[g], graphs.y[g]);
    auto edge = static_cast<size_t>(graphs.edge_ptr[g]);
    for (int64_t node = graphs.node_ptr[g]; node < graphs.node_ptr[g + 1]; ++node) {
      const auto row = graphs.x.subspan(static_cast<size_t>(node * view.node_features()),
                                        static_cast<size_t>(view.node_features()));
      std::string neighbours;
      int64_t degree = 0;
      for (; edge < static_cast<size_t>(graphs.edge_ptr[g + 1]) &&
             graphs.edges[2 * edge] == node - graphs.node_ptr[g];
           ++edge, ++degree)
        neighbours += fmt::format(" {}", graphs.edges[2 * edge + 1]);
      text += fmt::format("{} {}{}\n", std::find(row.begin(), row.end(), 1.0F) - row.begin(), degree, neighbours);
    }
  }
  return text;
}

}  // namespace
}  // namespace plimsoll

// What is read from a text comes back from a text of it.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll;
  Ledger::process().set_cap(32 << 20);
  const auto path = Scratch::write("S.txt", text_of(data, size));
  if (!is_small(path)) return 0;
  const auto out = ingest(path, "set", "labels");
  if (!out) return 0;
  const GraphSetView view(*out);
  expect_coalesced(view.graphs());
  const auto again = ingest(Scratch::write("again.txt", text_of(view)), "again", "labels");
  expect(again && columns_of(*again) == columns_of(*out), "graphs come back from a text of them");
  expect(ingest(path, "nodes", "auto", "node").has_value(), "tags are classes as well");
  return 0;
}
