#include <algorithm>
#include <cmath>

#include "fuzz/property.h"
#include "fuzz/scratch.h"
#include "ingest/graph/graph.h"
#include "store/verify.h"

namespace plimsoll {
namespace {

// The first line selects the options: "dense", "sparse", "text" or "auto", and flags w (a weight in the third
// column), u (undirected), d (dedup), o (order by degree), n (the text after the first blank line is a table
// of nodes).
struct Input {
  GraphIngestOptions options;
  bool table = false;
};

Input input_of(std::string_view line) {
  Input input;
  for (const NodeIds ids : {NodeIds::dense, NodeIds::sparse, NodeIds::text})
    if (line.starts_with(word_of(ids))) input.options.ids = ids;
  const std::string_view flags = line.substr(std::min(line.find(' '), line.size()));
  const auto flag = [&](char c) { return flags.find(c) != std::string_view::npos; };
  if (flag('w')) input.options.edges.weight = std::string(1, '2');  // g++ 12 warns of "2" without reason.
  input.options.undirected = flag('u');
  input.options.dedup = flag('d');
  if (flag('o')) input.options.order = NodeOrderKind::degree;
  input.table = flag('n');
  return input;
}

bool ingest(GraphIngestOptions options, const std::string& out, int threads) {
  options.out = Scratch::folder() / out;
  options.threads = threads;
  options.force = true;
  return succeeds([&] { ingest_graph(options, [](const char*, int64_t, int64_t) {}); });
}

}  // namespace
}  // namespace plimsoll

// Any text is refused or gives a valid graph, which is the same with more threads.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll;
  Ledger::process().set_cap(24 << 20);
  std::string_view text = text_of(data, size);
  Input input = input_of(take_line(text));
  if (input.table) {
    const size_t blank = std::min(text.find("\n\n"), text.size());
    input.options.nodes.table = Scratch::write("nodes.csv", text.substr(std::min(blank + 2, text.size())));
    text = text.substr(0, blank);
  }
  // Numbers that count nodes would make a node of each number up to the greatest.
  if (input.options.ids == NodeIds::dense) input.options.node_count = 1000;
  input.options.edges.files = {Scratch::write("edges.txt", text)};
  const bool done = ingest(input.options, "graph", 1);
  expect(ingest(input.options, "again", 2) == done, "threads change no verdict");
  if (!done) return 0;
  expect(verify_data_set(Scratch::folder() / "graph").empty(), "a graph that was made is whole");
  expect(GraphView(Scratch::folder() / "graph").set().identity() ==
             GraphView(Scratch::folder() / "again").set().identity(),
         "threads change no byte");
  return 0;
}
