#include "can/windows/windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/workers.h"
#include "can/windows/behaviour_windows.h"
#include "can/windows/compat_windows.h"
#include "memory/ledger.h"

namespace plimsoll {
namespace {

// Cuts each range to [first, end) and makes it relative to `first`.
void keep_graphs(std::vector<GraphRange>& ranges, int64_t first, int64_t end) {
  for (GraphRange& range : ranges) {
    const int64_t last = std::clamp(range.first_graph + range.graphs, first, end);
    range.first_graph = std::clamp(range.first_graph, first, end);
    range.graphs = last - range.first_graph;
    range.first_graph -= first;
  }
}

// Checks that both have merged channels or neither has: a message of a merged channel is another node than
// the same message of a single channel.
void require_same_channels(const FramesView& frames, const MessageIds& known) {
  const bool merged = !frames.frames().channel.empty();
  if (frames.frames().size() == 0 || merged != known.channels.empty()) return;
  throw InputError(fmt::format(
      "{}: {}", frames.set().folder().string(),
      merged
          ? "the channels of its recordings are merged, but the model is for single channels; ingest without "
            "--merge-channels, or train or calibrate a model on merged channels"
          : fmt::format("its recordings have one channel each, but the model is for the merged channels {}; "
                        "ingest with --merge-channels",
                        fmt::join(known.channels, ", "))));
}

// Ends an attempt whose blocks do not fit into the budget together; thrown so that all blocks are freed
// before the next attempt.
struct BlockRefused {
  BudgetExceeded refusal;
};

}  // namespace

void check_window_options(const WindowOptions& options) {
  const bool time = options.unit == WindowUnit::nanoseconds;
  if (time && options.features == WindowFeatures::compat)
    throw UsageError("compat windows count frames; for windows by time, set the features behaviour");
  if (!time && (options.window < 2 || options.window > 65535))
    throw UsageError(fmt::format("a window of {} frames is not between 2 and 65535", options.window));
  if (time && (options.window < WindowLength::kMinTime || options.window > WindowLength::kMaxTime))
    throw UsageError(fmt::format("a window of {} is not between 1us and 3600s",
                                 WindowLength{options.window, options.unit}.text()));
  if (!time && options.stride > WindowLength::kMaxStride)
    throw UsageError(
        fmt::format("a stride of {} frames is above {}", options.stride, WindowLength::kMaxStride));
  if (options.calibration.windows > 0 && options.features == WindowFeatures::compat)
    throw UsageError("compat has no benign profile to calibrate; set the features behaviour");
  if (options.stride < 1 || (time && options.stride > WindowLength::kMaxTime))
    throw UsageError(fmt::format("a stride of {} {}", options.stride,
                                 time ? "ns is not between 1us and 3600s" : "frames is not above 0"));
}

GraphSetTables feature_tables(WindowFeatures features) {
  GraphSetTables tables;
  if (features == WindowFeatures::behaviour) {
    tables.node_features = BehaviourGraph::node_feature_names();
    tables.edge_features = BehaviourGraph::edge_feature_names();
    tables.of_known_ids = BehaviourGraph::known_id_feature_names();
    return tables;
  }
  tables.node_features = {"id_index", "byte_0", "byte_1", "byte_2", "byte_3",       "byte_4",
                          "byte_5",   "byte_6", "byte_7", "count",  "last_position"};
  tables.edge_features = {"count",       "frequency",      "mean_gap",      "std_gap",
                          "regularity",  "first_position", "last_position", "span",
                          "has_reverse", "degree_product", "degree_ratio"};
  return tables;
}

std::unique_ptr<WindowSource> open_windows(const FramesView& frames, const WindowOptions& options,
                                           TrainedContext known) {
  check_window_options(options);
  const bool behaviour = options.features == WindowFeatures::behaviour;
  if (!behaviour && !frames.frames().channel.empty())
    throw UsageError(frames.set().folder().string() +
                     ": has merged channels, which the published graphs (compat) do not support; set the "
                     "features behaviour, or ingest without --merge-channels");
  if (behaviour && known.profile) require_same_channels(frames, known.profile->vocabulary().ids());
  if (behaviour && known.profile)
    return std::make_unique<BehaviourWindows>(frames, options, std::move(*known.profile));
  MessageIds& vocabulary = known.vocabulary;
  if (vocabulary.empty()) vocabulary = training_ids(frames, behaviour, options.learn_from);
  if (vocabulary.empty() && options.calibration.windows > 0)  // Each recording has its own profile.
    return std::make_unique<BehaviourWindows>(frames, options, BehaviourProfile(Vocabulary({})));
  if (vocabulary.empty())
    throw InputError(fmt::format(
        "{}: has no training frames{} to learn the ID vocabulary from; add {}recordings to the splits "
        "whose names begin with 'train', or name others to `plimsoll windows --vocabulary-from`",
        frames.set().folder().string(), behaviour ? " labelled 0" : "", behaviour ? "attack-free " : ""));
  Vocabulary ids(std::move(vocabulary));
  if (!behaviour) return std::make_unique<CompatWindows>(frames, options, std::move(ids));
  return std::make_unique<BehaviourWindows>(
      frames, options, BehaviourProfile::learn(frames, std::move(ids), options.learn_from));
}

void write_graph_set(const BlockSource& source, const std::filesystem::path& out, bool force,
                     const Json& provenance, int threads,
                     const std::function<void(int64_t, int64_t)>& progress, const Shard& shard) {
  GraphSetWriter writer(out, force, source.node_features(), source.edge_features());
  const auto [first, end] = shard.items(source.graphs());
  int64_t next = first;
  // Writes from `next` on, in chunks of `chunk` graphs, until all are written or a chunk does not fit.
  const auto write = [&, first = first, end = end](int on_threads, int64_t chunk) {
    Workers workers(on_threads);
    const int64_t begin = next;
    workers.run_ordered((end - begin + chunk - 1) / chunk, [&](int64_t item, Turn& turn) {
      const int64_t from = begin + item * chunk;
      std::vector<int64_t> graphs(static_cast<size_t>(std::min(chunk, end - from)));
      std::iota(graphs.begin(), graphs.end(), from);
      GraphBlock block;
      try {
        source.read(graphs, block);
      } catch (const BudgetExceeded& refusal) {
        throw BlockRefused{refusal};
      }
      turn.wait();
      writer.append(block.spans());
      next = graphs.back() + 1;
      progress(next - first, end - first);
    });
  };
  for (int64_t chunk = 64; next < end;) {
    try {
      write(threads, chunk);
    } catch (const BlockRefused& refused) {
      if (chunk > 1)
        chunk /= 8;
      else if (threads > 1)
        threads /= 2;
      else
        throw BudgetExceeded(refused.refusal);
    }
  }
  GraphSetTables tables = source.tables();
  for (auto* const ranges : {&tables.splits, &tables.recordings}) keep_graphs(*ranges, first, end);
  writer.publish(tables, provenance);
}

Vector<uint8_t, Tag::columns> unknown_id_rule(const FramesView& frames, const WindowSource& windows,
                                              const MessageIds& known) {
  const Vocabulary vocabulary(known);
  Vector<uint8_t, Tag::columns> has_unknown(static_cast<size_t>(windows.graphs()));
  for (size_t r = 0; r < frames.recordings().size(); ++r) {
    const GraphRange& range = windows.tables().recordings[r];
    for (int64_t g = range.first_graph; g < range.first_graph + range.graphs; ++g) {
      const FrameSpans window = windows.frames(g);
      const FrameKeys keys = vocabulary.keys(window, frames.recordings()[r]);
      bool unknown = false;
      for (size_t i = 0; i < window.can_id.size() && !unknown; ++i)
        unknown = vocabulary.index(keys[i]) == vocabulary.size();
      has_unknown[static_cast<size_t>(g)] = unknown;
    }
  }
  return has_unknown;
}

}  // namespace plimsoll
