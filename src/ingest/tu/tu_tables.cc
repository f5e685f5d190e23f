#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "base/error.h"
#include "ingest/text/characters.h"
#include "ingest/text/line_reader.h"
#include "ingest/tu/tu_files.h"
#include "ingest/tu/tu_source.h"

namespace plimsoll {
namespace {

constexpr int64_t kMostTuNodes = std::numeric_limits<int32_t>::max();

int64_t count_fields(std::string_view line) {
  int64_t fields = 0;
  while (line.data() != nullptr) {
    take_comma_field(line);
    ++fields;
  }
  return fields;
}

// The rows of one of the files.
class TuTable {
 public:
  TuTable(const TuFiles& files, const std::string& kind) : lines_(files.open(kind), files.path(kind)) {}

  bool next() { return lines_.next(line_); }
  // The next row of as many as `rows` says; "a row for each of the 42 nodes".
  void next_of(int64_t rows, const char* what) {
    if (!next()) lines_.refuse_end(fmt::format("a row for each of the {} {}", rows, what));
  }
  void end(int64_t rows, const char* what) {
    if (next()) lines_.refuse(line_, fmt::format("the end, because there are {} {}", rows, what));
  }

  int64_t only_number(int64_t least, int64_t most, const char* what) const {
    return lines_.whole(trim(line_), least, most, what);
  }
  void labels(Vector<int32_t, Tag::ingest>& row) {
    each_field([&](std::string_view field) {
      row.push_back(static_cast<int32_t>(lines_.whole(field, std::numeric_limits<int32_t>::min(),
                                                      std::numeric_limits<int32_t>::max(), "a label")));
    });
  }
  void attributes(Vector<float, Tag::ingest>& row) {
    each_field([&](std::string_view field) { row.push_back(lines_.real(field, "an attribute")); });
  }
  // The two ends of an arc among `nodes`, which count from 1 in the file and from 0 here.
  std::pair<int64_t, int64_t> arc(int64_t nodes) {
    if (count_fields(line_) != 2) lines_.refuse(line_, "two nodes, `source, target`");
    std::string_view rest = line_;
    const int64_t source = lines_.whole(take_comma_field(rest), 1, nodes, "a node");
    const int64_t target = lines_.whole(take_comma_field(rest), 1, nodes, "a node");
    return {source - 1, target - 1};
  }
  [[noreturn]] void refuse(const std::string& expected) const { lines_.refuse(line_, expected); }
  const LineReader& lines() const { return lines_; }

 private:
  template <typename Parse>
  void each_field(Parse&& parse) {
    const int64_t fields = count_fields(line_);
    if (fields_ == 0) fields_ = fields;
    if (fields != fields_)
      lines_.refuse(line_, fmt::format("{} numbers with commas between them, as in the first row", fields_));
    for (std::string_view rest = line_; rest.data() != nullptr;) parse(take_comma_field(rest));
  }

  LineReader lines_;
  std::string_view line_;
  int64_t fields_ = 0;  // of the first row
};

class TableNodes : public TuNodes {
 public:
  TableNodes(const TuFiles& files, int64_t nodes) : nodes_(nodes) {
    if (files.has("node_labels")) labels_.emplace(files, "node_labels");
    if (files.has("node_attributes")) attributes_.emplace(files, "node_attributes");
  }

  void next(TuRow& row) override {
    row.labels.clear();
    row.attributes.clear();
    ++given_;
    for (auto* table : {&labels_, &attributes_}) {
      if (!*table) continue;
      (*table)->next_of(nodes_, "nodes");
      table == &labels_ ? (*table)->labels(row.labels) : (*table)->attributes(row.attributes);
      if (given_ == nodes_) (*table)->end(nodes_, "nodes");
    }
  }

 private:
  int64_t nodes_;
  int64_t given_ = 0;
  std::optional<TuTable> labels_;
  std::optional<TuTable> attributes_;
};

class TableSource : public TuSource {
 public:
  explicit TableSource(std::unique_ptr<TuFiles> files) : files_(std::move(files)) {}

  TuGraphs graphs() const override {
    TuGraphs graphs;
    TuTable indicator(*files_, "graph_indicator");
    int64_t nodes = 0;
    for (; indicator.next(); ++nodes) {
      if (nodes == kMostTuNodes) indicator.refuse(fmt::format("at most {} nodes", kMostTuNodes));
      const auto present = static_cast<int64_t>(graphs.node_ptr.size());
      const int64_t graph =
          indicator.only_number(1, std::numeric_limits<int64_t>::max(), "the graph of a node");
      if (graph == present + 1)
        graphs.node_ptr.push_back(nodes);
      else if (graph != present)
        indicator.refuse(present == 0
                             ? "graph 1, with which the numbers begin"
                             : fmt::format("graph {} or {}, because graphs are numbered in ascending "
                                           "order and each has a node",
                                           present, present + 1));
    }
    if (graphs.node_ptr.empty()) indicator.lines().refuse_end("the graph of each node, one a line");
    graphs.node_ptr.push_back(nodes);
    // Targets of regression can be all that is known of graphs.
    const bool of_values = files_->has("graph_attributes");
    if (!of_values || files_->has("graph_labels")) read_graph_labels(graphs);
    if (of_values) read_graph_attributes(graphs);
    return graphs;
  }

  TuArcs arcs(const TuGraphs& graphs) const override {
    TuArcs arcs;
    const int64_t rows = count_lines(*files_->open("A"));
    if (rows > std::numeric_limits<uint32_t>::max())
      throw InputError(fmt::format("{}: has {} rows, expected at most {}", files_->path("A"), rows,
                                   std::numeric_limits<uint32_t>::max()));
    arcs.reserve(rows, width("edge_labels"), width("edge_attributes"), files_->path("edge_labels"));
    const int64_t given = read_arcs(graphs, arcs);
    read_edges("edge_labels", given, [&, row = TuRow()](TuTable& table) mutable {
      row.labels.clear();
      table.labels(row.labels);
      arcs.add_labels(row.labels);
    });
    read_edges("edge_attributes", given, [&, row = TuRow()](TuTable& table) mutable {
      row.attributes.clear();
      table.attributes(row.attributes);
      arcs.add_attributes(row.attributes);
    });
    arcs.sort();
    return arcs;
  }

  std::unique_ptr<TuNodes> nodes(const TuGraphs& graphs) const override {
    return std::make_unique<TableNodes>(*files_, graphs.nodes());
  }
  std::string path() const override { return files_->path("node_labels"); }
  Json sources() const override { return files_->sources(); }
  int64_t bytes() const override { return files_->bytes(); }

 private:
  void read_graph_labels(TuGraphs& graphs) const {
    const int64_t count = graphs.graphs();
    TuTable labels(*files_, "graph_labels");
    graphs.label.reserve(static_cast<size_t>(count));
    for (int64_t g = 0; g < count; ++g) {
      labels.next_of(count, "graphs");
      graphs.label.push_back(static_cast<int32_t>(labels.only_number(
          std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max(), "the label of a graph")));
    }
    labels.end(count, "graphs");
  }

  void read_graph_attributes(TuGraphs& graphs) const {
    TuTable attributes(*files_, "graph_attributes");
    for (int64_t g = 0; g < graphs.graphs(); ++g) {
      attributes.next_of(graphs.graphs(), "graphs");
      attributes.attributes(graphs.attributes);
    }
    attributes.end(graphs.graphs(), "graphs");
  }

  // Returns how many rows there were, self-loops among them.
  int64_t read_arcs(const TuGraphs& graphs, TuArcs& arcs) const {
    TuTable table(*files_, "A");
    size_t graph = 0;  // of the last source: most arcs come graph by graph
    int64_t rows = 0;
    for (; table.next(); ++rows) {
      const auto [source, target] = table.arc(graphs.nodes());
      const auto in_graph = [&](int64_t node) {
        return graphs.node_ptr[graph] <= node && node < graphs.node_ptr[graph + 1];
      };
      if (!in_graph(source))
        graph = static_cast<size_t>(std::upper_bound(graphs.node_ptr.begin(), graphs.node_ptr.end(), source) -
                                    graphs.node_ptr.begin() - 1);
      if (!in_graph(target))
        table.refuse(fmt::format("two nodes of graph {}, that of the source, which has the nodes {} to {}",
                                 graph + 1, graphs.node_ptr[graph] + 1, graphs.node_ptr[graph + 1]));
      arcs.add(source, target);
    }
    if (rows == 0) table.lines().refuse_end("arcs `source, target`, one a line");
    return rows;
  }

  template <typename Read>
  void read_edges(const char* kind, int64_t rows, Read&& read) const {
    if (!files_->has(kind)) return;
    TuTable table(*files_, kind);
    for (int64_t row = 0; row < rows; ++row) {
      table.next_of(rows, "arcs");
      read(table);
    }
    table.end(rows, "arcs");
  }

  // How many numbers a row has; 0 if there is no such file.
  int64_t width(const char* kind) const {
    if (!files_->has(kind)) return 0;
    LineReader lines(files_->open(kind), files_->path(kind));
    std::string_view line;
    return lines.next(line) ? count_fields(line) : 0;
  }

  std::unique_ptr<TuFiles> files_;
};

}  // namespace

std::unique_ptr<TuSource> open_tu_tables(const std::filesystem::path& path, bool zip) {
  return std::make_unique<TableSource>(zip ? TuFiles::in_zip(path) : TuFiles::in_folder(path));
}

}  // namespace plimsoll
