#include "can/tasks/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/units.h"
#include "telemetry/graph_chart.h"

namespace plimsoll {
namespace {

constexpr size_t kDrawnWindows = 4;  // Number of windows drawn for each list.
constexpr int64_t kColumns = 14;
constexpr int64_t kBufferBytes = int64_t{256} << 10;  // Buffer for each column that is written.

const GraphRange& recording_of(const GraphSetTables& tables, int64_t graph) {
  return *std::ranges::find_if(tables.recordings, [graph](const GraphRange& recording) {
    return graph >= recording.first_graph && graph < recording.first_graph + recording.graphs;
  });
}

std::string name_of(MessageKey key, const std::vector<std::string>& channels) {
  const std::string channel = channel_of(key, channels, {});
  return fmt::format("{}{}{:0{}X}", channel, channel.empty() ? "" : ":", key & 0x1FFFFFFF,
                     (key & kCanExtended) != 0 ? 8 : 3);
}

// Whether the output is an attention data set. Anything else may still be needed and is not replaced.
bool is_replaceable(const std::filesystem::path& out) {
  if (!std::filesystem::exists(out)) return false;
  try {
    if (kind_of(out) == "attention") return true;
  } catch (const InputError&) {
    // The output is not a data set.
  }
  throw Failure(out.string() + " exists already and is not an attention data set; name another folder");
}

// Shares by index, 0 if absent.
std::vector<float> dense(const std::vector<Focus::Share>& shares, size_t count) {
  std::vector<float> all(count, 0);
  for (const auto& [index, share] : shares) all[static_cast<size_t>(index)] = share;
  return all;
}

template <typename T>
void append_one(NpyWriter& column, T value) {
  column.append(std::span<const T>(&value, 1));
}

class AttentionWriter {
 public:
  AttentionWriter(const std::filesystem::path& out, const GatOptions& config, bool merged)
      : set_(out, is_replaceable(out)),
        layers_(config.layers),
        heads_(config.heads),
        window_(set_.column<int64_t>("window")),
        score_(set_.column<float>("score")),
        y_(set_.column<int64_t>("y")),
        node_ptr_(set_.column<int64_t>("node_ptr")),
        edge_ptr_(set_.column<int64_t>("edge_ptr")),
        can_id_(set_.column<uint32_t>("can_id")),
        channel_(merged ? &set_.column<uint8_t>("channel") : nullptr),
        known_(set_.column<uint8_t>("known")),
        node_share_(set_.column<float>("node_share")),
        own_(set_.column<float>("own", {layers_, heads_})),
        edges_(set_.column<int32_t>("edges", {2})),
        edge_share_(set_.column<float>("edge_share")),
        attention_(set_.column<float>("attention", {layers_, heads_})) {
    append_one(node_ptr_, int64_t{0});
    append_one(edge_ptr_, int64_t{0});
  }

  void append(int64_t graph, const AttendedWindows& attended) {
    const GraphBlock& block = attended.graph();
    const auto nodes = static_cast<size_t>(block.nodes());
    const auto edges = static_cast<size_t>(block.edge_count());
    const Focus focus = attended.focus();
    append_one(window_, graph);
    append_one(score_, attended.score());
    append_one(y_, block.y.front());
    append_one(node_ptr_, nodes_ += block.nodes());
    append_one(edge_ptr_, edge_count_ += block.edge_count());
    for (const MessageKey id : attended.ids()) {
      append_one(can_id_, static_cast<uint32_t>(id));
      if (channel_ != nullptr) append_one(*channel_, static_cast<uint8_t>(id >> kChannelShift));
      append_one(known_, static_cast<uint8_t>(attended.is_known(id)));
    }
    node_share_.append(std::span<const float>(dense(focus.nodes, nodes)));
    edges_.append(std::span<const int32_t>(block.edges));
    edge_share_.append(std::span<const float>(dense(focus.edges, edges)));
    append_weights(attention_, attended.network(), 0, edges);
    append_weights(own_, attended.network(), edges, nodes);
    ++windows_;
  }

  void publish(const std::vector<GraphRange>& splits, const AttendedWindows& attended,
               const DetectorScores& detector, const Json& data) {
    JsonTable listed;
    for (const GraphRange& split : splits)
      listed.push_back(
          {{"name", split.name}, {"first_window", split.first_graph}, {"windows", split.graphs}});
    JsonTable recordings;
    for (const GraphRange& recording : attended.windows().tables().recordings)
      recordings.push_back({{"name", recording.name},
                            {"split", recording.split},
                            {"first_window", recording.first_graph},
                            {"windows", recording.graphs}});
    Json manifest = {{"kind", "attention"},
                     {"format_version", 0},
                     {"windows", windows_},
                     {"nodes", nodes_},
                     {"edges", edge_count_},
                     {"layers", layers_},
                     {"heads", heads_},
                     {"detector", {{"name", detector.name}, {"seed", detector.seed}}},
                     {"columns", Json::object()},
                     {"splits", listed.take()},
                     {"recordings", recordings.take()},
                     {"provenance", make_provenance({{{"kind", "run"}, {"data", data}}}, Json::object())}};
    if (channel_ != nullptr) manifest["channels"] = attended.channels();
    set_.publish(std::move(manifest));
  }

 private:
  // Appends the weights of each row as [layers, heads]; the network has [rows, heads] for each layer.
  void append_weights(NpyWriter& column, const GatNetwork& network, size_t first, size_t rows) const {
    const auto heads = static_cast<size_t>(heads_);
    for (size_t row = first; row < first + rows; ++row)
      for (int64_t layer = 0; layer < layers_; ++layer)
        column.append(network.attention(layer).subspan(row * heads, heads));
  }

  DataSetWriter set_;
  int64_t layers_;
  int64_t heads_;
  NpyWriter& window_;
  NpyWriter& score_;
  NpyWriter& y_;
  NpyWriter& node_ptr_;
  NpyWriter& edge_ptr_;
  NpyWriter& can_id_;
  NpyWriter* channel_;
  NpyWriter& known_;
  NpyWriter& node_share_;
  NpyWriter& own_;
  NpyWriter& edges_;
  NpyWriter& edge_share_;
  NpyWriter& attention_;
  int64_t windows_ = 0;
  int64_t nodes_ = 0;
  int64_t edge_count_ = 0;
};

GraphChart chart_of(const AttendedWindows& attended) {
  const Focus focus = attended.focus();
  const GraphBlock& block = attended.graph();
  const std::vector<float> nodes = dense(focus.nodes, attended.ids().size());
  constexpr int kKnown = 0;
  constexpr int kUnknown = 1;
  GraphChart chart;
  bool any_unknown = false;
  for (size_t n = 0; n < nodes.size(); ++n) {
    const bool known = attended.is_known(attended.ids()[n]);
    any_unknown |= !known;
    chart.nodes.push_back(
        {name_of(attended.ids()[n], attended.channels()), nodes[n], known ? kKnown : kUnknown});
  }
  for (const auto& [index, share] : focus.edges) {
    const auto at = 2 * static_cast<size_t>(index);
    chart.edges.push_back({block.edges[at], block.edges[at + 1], share});
  }
  chart.legend.push_back({"known ID", kKnown});
  if (any_unknown) chart.legend.push_back({"unknown ID", kUnknown});
  return chart;
}

}  // namespace

AttendedWindows::AttendedWindows(const std::filesystem::path& model, const WindowSource& windows)
    : AttendedWindows(DetectorFile(model), windows) {}

AttendedWindows::AttendedWindows(const DetectorFile& model, const WindowSource& windows)
    : windows_(windows), vocabulary_(model.known.vocabulary), scorer_(model, windows.tables()) {}

void AttendedWindows::read(int64_t graph) {
  windows_.read(std::span(&graph, 1), block_);
  ids_ = windows_.node_ids(graph);
  score_ = scorer_.log_odds(block_);
}

Focus AttendedWindows::focus() const {
  return focus_of(scorer_.network(), block_, std::numeric_limits<size_t>::max());
}

int64_t AttendedWindows::bytes(const std::filesystem::path& model, bool written) {
  // Includes the packed weights, and the outputs of a window's layers.
  const int64_t drawn = 2 * static_cast<int64_t>(std::filesystem::file_size(model)) + 4 * kMiB;
  return drawn + (written ? kColumns * kBufferBytes : 0);
}

void write_attention(const std::filesystem::path& out, AttendedWindows& attended,
                     std::span<const EvaluatedList> lists, const DetectorScores& detector, const Json& data,
                     const std::function<void(int64_t, int64_t)>& progress) {
  int64_t expected = 0;
  for (const EvaluatedList& list : lists) expected += std::ssize(list.graphs);
  AttentionWriter writer(out, attended.network().config(), !attended.channels().empty());
  std::vector<GraphRange> splits;
  int64_t done = 0;
  for (const EvaluatedList& list : lists) {
    splits.push_back({list.name, "", done, std::ssize(list.graphs), {}, {}});
    for (const int64_t graph : list.graphs) {
      attended.read(graph);
      writer.append(graph, attended);
      constexpr int64_t kEvery = 1024;
      if (++done % kEvery == 0) progress(done, expected);
    }
  }
  progress(done, expected);
  writer.publish(splits, attended, detector, data);
}

std::vector<Report::Figure> suspicious_windows(AttendedWindows& attended, const EvaluatedList& list,
                                               std::span<const float> scores) {
  std::vector<int64_t> highest(std::min(kDrawnWindows, list.graphs.size()));
  const auto score_of = [&](int64_t graph) { return scores[static_cast<size_t>(graph)]; };
  // A model that diverged scores NaN, which comparisons cannot order.
  const auto rank_of = [&](int64_t graph) {
    return std::isnan(score_of(graph)) ? -std::numeric_limits<float>::infinity() : score_of(graph);
  };
  std::ranges::partial_sort_copy(list.graphs, highest, std::greater<>(), rank_of, rank_of);
  std::vector<Report::Figure> figures;
  for (const int64_t graph : highest) {
    attended.read(graph);
    const GraphRange& recording = recording_of(attended.windows().tables(), graph);
    figures.push_back(
        {fmt::format("{}, window {}: {}, score {:.4g}", recording.name, graph - recording.first_graph,
                     attended.graph().y.front() == 1 ? "attack" : "no attack", score_of(graph)),
         draw(chart_of(attended))});
  }
  return figures;
}

}  // namespace plimsoll
