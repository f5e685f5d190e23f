#include "tasks/gnn/node_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "base/number_text.h"
#include "base/shown.h"
#include "io/input_stream.h"

namespace plimsoll {
namespace {

using NodeColumn = Vector<int64_t, Tag::columns>;
using NodeText = Vector<char, Tag::columns>;

constexpr int64_t kNoNode = -1;

template <typename Key>
struct NodeLine {
  Key key;
  size_t row = 0;  // Index among the lines that are not empty.
};
template <typename Key>
using NodeLines = Vector<NodeLine<Key>, Tag::columns>;

NodeText read_whole(const std::filesystem::path& file) {
  constexpr size_t kBytes = size_t{1} << 16;
  const auto stream = InputStream::open(file);
  NodeText text;
  for (size_t read = kBytes; read == kBytes;) {
    const size_t before = text.size();
    text.resize(before + kBytes);
    read = stream->read(text.data() + before, kBytes);
    text.resize(before + read);
  }
  return text;
}

// Calls use(content, line) for each line that is not empty. Lines count from 1.
template <typename Use>
void each_line(std::string_view text, const Use& use) {
  for (int64_t line = 1; !text.empty(); ++line) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view content = text.substr(0, end);
    if (content.ends_with('\r')) content.remove_suffix(1);
    if (!content.empty()) use(content, line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

[[noreturn]] void refuse(const std::filesystem::path& file, int64_t line, std::string_view text,
                         const GraphView& graph) {
  throw InputError(fmt::format("{}:{}: found '{}', expected the {} of a node of {}; remove the line",
                               file.string(), line, shown(text), graph.has_names() ? "name" : "ID",
                               graph.set().folder().string()));
}

// Looks up all lines in one pass over the nodes, whose keys are key_of(node).
template <typename Key, typename KeyOf>
NodeColumn find_nodes(NodeLines<Key>& lines, size_t rows, const GraphView& graph, const KeyOf& key_of) {
  std::ranges::sort(lines, {}, &NodeLine<Key>::key);
  NodeColumn found(rows, kNoNode);
  for (int64_t node = 0; node < graph.nodes(); ++node) {
    const Key key = key_of(node);
    auto line = std::ranges::lower_bound(lines, key, {}, &NodeLine<Key>::key);
    for (; line != lines.end() && line->key == key; ++line) found[line->row] = node;
  }
  return found;
}

std::string_view name_in_table(const GraphView& graph, int64_t node) {
  const int64_t id = graph.id(node);
  if (id < 0 || id >= graph.nodes())
    throw InputError(fmt::format("{}: node {} has the name {} of {}; run `plimsoll verify`",
                                 graph.set().folder().string(), node, id, graph.nodes()));
  return graph.name(id);
}

NodeColumn find_names(std::string_view text, const GraphView& graph) {
  NodeLines<std::string_view> lines;
  each_line(text, [&](std::string_view name, int64_t) { lines.push_back({name, lines.size()}); });
  return find_nodes(lines, lines.size(), graph, [&](int64_t node) { return name_in_table(graph, node); });
}

// A line that is not a number matches no node.
NodeColumn find_ids(std::string_view text, const GraphView& graph) {
  NodeLines<int64_t> lines;
  size_t rows = 0;
  each_line(text, [&](std::string_view content, int64_t) {
    if (const auto id = parse_number<int64_t>(content)) lines.push_back({*id, rows});
    ++rows;
  });
  if (!graph.node_id().empty())
    return find_nodes(lines, rows, graph, [&](int64_t node) { return graph.id(node); });
  NodeColumn found(rows, kNoNode);
  for (const NodeLine<int64_t>& line : lines)
    if (line.key >= 0 && line.key < graph.nodes()) found[line.row] = line.key;
  return found;
}

}  // namespace

std::string name_of_node(const GraphView& graph, int64_t node) {
  return graph.has_names() ? std::string(name_in_table(graph, node)) : std::to_string(graph.id(node));
}

NodeColumn read_node_list(const std::filesystem::path& file, const GraphView& graph) {
  const NodeText bytes = read_whole(file);
  const std::string_view text(bytes.data(), bytes.size());
  NodeColumn nodes = graph.has_names() ? find_names(text, graph) : find_ids(text, graph);
  if (nodes.empty()) throw InputError(file.string() + ": found no nodes, expected one per line");
  if (std::ranges::find(nodes, kNoNode) == nodes.end()) return nodes;
  size_t row = 0;
  each_line(text, [&](std::string_view content, int64_t line) {
    if (nodes[row++] == kNoNode) refuse(file, line, content, graph);
  });
  return nodes;
}

}  // namespace plimsoll
