#include "ingest/tu/tu_text.h"

#include <fmt/format.h>

#include <limits>

#include "ingest/text/characters.h"
#include "ingest/tu/tu_source.h"
#include "io/source_reader.h"

namespace plimsoll {
namespace {

constexpr int64_t kLeastLabel = std::numeric_limits<int32_t>::min();
constexpr int64_t kMost = std::numeric_limits<int32_t>::max();

class TextNodes : public TuNodes {
 public:
  explicit TextNodes(const std::filesystem::path& path) : reader_(path) {}

  void next(TuRow& row) override {
    reader_.next();
    row.labels.assign(1, reader_.tag());
    row.attributes.assign(reader_.attributes().begin(), reader_.attributes().end());
  }

 private:
  TuTextReader reader_;
};

class TextSource : public TuSource {
 public:
  explicit TextSource(std::filesystem::path path) : path_(std::move(path)) {}

  TuGraphs graphs() const override {
    TuGraphs graphs;
    int64_t nodes = 0;
    for (TuTextReader reader(path_); reader.next(); ++nodes) {
      if (!reader.begins_graph()) continue;
      graphs.node_ptr.push_back(nodes);
      graphs.label.push_back(reader.graph_label());
    }
    graphs.node_ptr.push_back(nodes);
    return graphs;
  }

  TuArcs arcs(const TuGraphs&) const override {
    int64_t count = 0;
    for (TuTextReader reader(path_); reader.next();)
      count += static_cast<int64_t>(reader.neighbours().size());
    TuArcs arcs;
    arcs.reserve(count, 0, 0, "");
    int64_t node = 0;
    int64_t first = 0;  // node of the present graph
    for (TuTextReader reader(path_); reader.next(); ++node) {
      if (reader.begins_graph()) first = node;
      for (const int32_t neighbour : reader.neighbours()) arcs.add(node, first + neighbour);
    }
    arcs.sort();
    return arcs;
  }

  std::unique_ptr<TuNodes> nodes(const TuGraphs&) const override {
    return std::make_unique<TextNodes>(path_);
  }
  std::string path() const override { return path_.string(); }
  Json sources() const override {
    Vector<char, Tag::ingest> buffer(1 << 20);
    SourceReader reader(path_);
    while (reader.read(buffer.data(), buffer.size()) > 0) {
    }
    return Json::array(
        {{{"source", path_.filename().string()}, {"bytes", reader.bytes_read()}, {"hash", reader.hash()}}});
  }
  int64_t bytes() const override { return static_cast<int64_t>(std::filesystem::file_size(path_)); }

 private:
  std::filesystem::path path_;
};

}  // namespace

TuTextReader::TuTextReader(const std::filesystem::path& path)
    : lines_(InputStream::open(path), path.string()) {
  std::string_view line;
  if (!lines_.next(line)) lines_.refuse_end("the number of graphs");
  graphs_ = lines_.whole(trim(line), 1, kMost, "the number of graphs");
}

bool TuTextReader::next() {
  ++node_;
  if (node_ >= graph_nodes_ && !begin_graph()) return false;
  std::string_view rest;
  if (!lines_.next(rest))
    lines_.refuse_end(fmt::format("node {} of the {} of graph {}", node_, graph_nodes_, graph_));
  rest = trim(rest);
  const std::string_view line = rest;
  tag_ = static_cast<int32_t>(lines_.whole(take_word(rest), kLeastLabel, kMost, "the tag of a node"));
  const std::string_view degree_field = take_word(rest);
  const int64_t degree = lines_.whole(degree_field, 0, kMost, "the degree of a node");
  neighbours_.clear();
  for (int64_t i = 0; i < degree; ++i) {
    if (rest.empty())
      lines_.refuse(degree_field, fmt::format("a degree of {}, as many as neighbours follow", i));
    neighbours_.push_back(
        static_cast<int32_t>(lines_.whole(take_word(rest), 0, graph_nodes_ - 1, "a neighbour")));
  }
  attributes_.clear();
  while (!rest.empty()) attributes_.push_back(lines_.real(take_word(rest), "an attribute"));
  const auto width = static_cast<int64_t>(attributes_.size());
  if (width_ < 0) width_ = width;
  if (width != width_)
    lines_.refuse(
        line, fmt::format("{} attributes after the neighbours, as in the first node, not {}", width_, width));
  return true;
}

bool TuTextReader::begin_graph() {
  std::string_view line;
  ++graph_;
  if (graph_ == graphs_) {
    if (lines_.next(line)) lines_.refuse(line, fmt::format("the end after the last of {} graphs", graphs_));
    return false;
  }
  if (!lines_.next(line)) lines_.refuse_end(fmt::format("graph {} of {}", graph_, graphs_));
  std::string_view rest = trim(line);
  graph_nodes_ = lines_.whole(take_word(rest), 1, kMost - nodes_, "the number of nodes of a graph");
  label_ = static_cast<int32_t>(lines_.whole(take_word(rest), kLeastLabel, kMost, "the label of a graph"));
  if (!rest.empty()) lines_.refuse(rest, "the end of the line after `nodes label`");
  nodes_ += graph_nodes_;
  node_ = 0;
  return true;
}

std::unique_ptr<TuSource> open_tu_text(const std::filesystem::path& path) {
  return std::make_unique<TextSource>(path);
}

}  // namespace plimsoll
