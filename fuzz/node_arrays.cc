#include <cstring>

#include "fuzz/property.h"
#include "fuzz/scratch.h"
#include "ingest/graph/graph.h"
#include "store/verify.h"

// Features and labels of nodes: .npy, .npz or texts, by their first bytes. The first line is "x",
// "y", or the number of bytes of the features, which precede the labels. They are refused or become part of a
// valid graph.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll;
  Ledger::process().set_cap(24 << 20);
  std::string_view text = text_of(data, size);
  const std::string_view first = take_line(text);
  size_t features = first == "x" ? text.size() : 0;
  if (first != "x" && first != "y")
    for (const char digit : first.substr(0, 6)) features = features * 10 + static_cast<size_t>(digit & 0xF);
  features = std::min(features, text.size());
  GraphIngestOptions options;
  options.ids = NodeIds::dense;
  options.force = true;
  options.threads = 1;
  options.out = Scratch::folder() / "graph";
  options.edges.files = {Scratch::write("edges.txt", "0 1\n1 2\n2 0\n")};
  const auto write = [](const std::string& name, std::string_view bytes) {
    const char* const ending = bytes.starts_with("PK") ? ".npz" : bytes.starts_with("\x93") ? ".npy" : ".csv";
    return Scratch::write(name + ending, bytes);
  };
  if (first != "y") options.nodes.feature_array = write("x", text.substr(0, features));
  if (first != "x") options.nodes.label_array = write("y", text.substr(features));
  const bool done = succeeds([&] { ingest_graph(options, [](const char*, int64_t, int64_t) {}); });
  if (!done) return 0;
  expect(verify_data_set(options.out).empty(), "a graph that was made is whole");
  if (first == "y" || !names_array(options.nodes.feature_array)) return 0;
  const GraphView graph(options.out);
  const NumberArray given(options.nodes.feature_array);
  expect(graph.set().columns().at("x").shape().shape == given.shape(), "features keep their shape");
  return 0;
}
