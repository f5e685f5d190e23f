#include <fmt/format.h>

#include <cmath>

#include "fuzz/property.h"
#include "ingest/swc/swc_tree.h"

namespace plimsoll {
namespace {

std::string text_of(const SwcTree& tree, bool backwards) {
  std::string text;
  for (size_t n = 0; n < tree.nodes.size(); ++n) {
    const SwcTree::Node& node = tree.nodes[n];
    const std::string line =
        fmt::format("{} {} {} {} {} {} {}\n", n, node.type, node.x, node.y, node.z, node.radius, node.parent);
    text = backwards ? line + text : text + line;
  }
  return text;
}

bool same(const SwcTree& a, const SwcTree& b) {
  const auto equal = [](const SwcTree::Node& node, const SwcTree::Node& other) {
    return node.x == other.x && node.y == other.y && node.z == other.z && node.radius == other.radius &&
           node.type == other.type && node.parent == other.parent;
  };
  return std::equal(a.nodes.begin(), a.nodes.end(), b.nodes.begin(), b.nodes.end(), equal);
}

SwcTree read(std::string_view text, const SwcTreeOptions& options) {
  SwcRows rows;
  SwcChanges changes;
  read_swc(text, "fuzz.swc", rows);
  return make_swc_tree(rows, "fuzz.swc", options, changes);
}

void expect_sound(const SwcTree& tree) {
  expect(!tree.nodes.empty(), "a file has points");
  for (size_t n = 0; n < tree.nodes.size(); ++n) {
    const SwcTree::Node& node = tree.nodes[n];
    expect(node.parent < static_cast<int32_t>(n), "parents come first");
  }
}

}  // namespace
}  // namespace plimsoll

// Trees written as text are read again, whatever the order of rows.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll;
  Ledger::process().set_cap(64 << 20);
  for (const bool split : {false, true})
    succeeds([&] {
      const SwcTree tree = read(text_of(data, size), {.root_at_soma = !split, .split = split});
      expect_sound(tree);
      const auto finite = [](const SwcTree::Node& node) {
        return std::isfinite(node.x) && std::isfinite(node.y) && std::isfinite(node.z) &&
               std::isfinite(node.radius);
      };
      // A scale or a mean may exceed the range of floats.
      if (!std::all_of(tree.nodes.begin(), tree.nodes.end(), finite)) return;
      for (const bool backwards : {false, true})
        expect(same(read(text_of(tree, backwards), {.root_at_soma = false, .split = true}), tree),
               "a tree comes back from a text of it");
      double length = 0;
      for (const SwcTree::Node& node : tree.nodes)
        length += std::abs(node.x) + std::abs(node.y) + std::abs(node.z);
      if (length < 1e4) expect_sound(resample(tree, 1));
    });
  return 0;
}
