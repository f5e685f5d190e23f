#include "store/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "store/column_check.h"
#include "can/frames/frames.h"
#include "store/graph.h"
#include "store/graph_set.h"

namespace plimsoll {

void verify_graph(const GraphView& graph, std::vector<std::string>& findings);  // store/verify_graph.cc

namespace {

constexpr size_t kMostFindings = 20;

void verify_checksums(const DataSetView& set, std::vector<std::string>& wrong) {
  for (const auto& [name, view] : set.columns()) {
    const std::string found = column_checksum(view);
    const Json expected = set.manifest()["columns"][name].value("xxh3", Json());
    if (expected != found)
      wrong.push_back(
          fmt::format("column '{}': its checksum is {}, the manifest says {}", name, found, expected.dump()));
  }
}

void verify_frames(const FramesView& view, size_t most, std::vector<std::string>& wrong) {
  const FrameSpans& frames = view.frames();
  for (int64_t i = 0; i < frames.size() && wrong.size() < most; ++i) {
    const auto at = static_cast<size_t>(i);
    const uint8_t label = frames.label[at];
    if (label > 1 && label != kUnlabelled)
      wrong.push_back(fmt::format("frame {}: label {} is not 0, 1 or 255", i, label));
    if (frames.length[at] > frames.width) {
      wrong.push_back(fmt::format("frame {}: length {} is over {}", i, frames.length[at], frames.width));
      continue;
    }
    if (!frames.flags.empty() && frames.flags[at] > kFrameFlags)
      wrong.push_back(fmt::format("frame {}: flags {} are over {}", i, frames.flags[at], kFrameFlags));
    const auto payload =
        frames.data.subspan(at * static_cast<size_t>(frames.width), static_cast<size_t>(frames.width));
    if (std::any_of(payload.begin() + frames.length[at], payload.end(),
                    [](uint8_t byte) { return byte != 0; }))
      wrong.push_back(
          fmt::format("frame {}: bytes after its length of {} are not zero", i, frames.length[at]));
    const uint32_t id = frames.can_id[at] & ~(kCanExtended | kCanRemote | kCanError);
    // An error frame has the classes of the error for an ID, up to bit 28.
    if ((frames.can_id[at] & (kCanExtended | kCanError)) == 0 && id > 0x7FF)
      wrong.push_back(fmt::format("frame {}: ID {:X} needs 29 bits but is not flagged as extended", i, id));
  }
  for (const Recording& recording : view.recordings()) {
    const FrameSpans part = frames.part(recording.first_frame, recording.frames);
    for (size_t i = 0; i < part.channel.size() && wrong.size() < most; ++i)
      if (part.channel[i] >= recording.channels.size())
        wrong.push_back(fmt::format("frame {}: channel {} is not among the {} of recording {}",
                                    recording.first_frame + static_cast<int64_t>(i), part.channel[i],
                                    recording.channels.size(), recording.path()));
    const auto labels = part.label;
    const int64_t attacks = std::count(labels.begin(), labels.end(), uint8_t{1});
    if (attacks != recording.attack_frames)
      wrong.push_back(fmt::format("recording {}: has {} attack frames, the manifest says {}",
                                  recording.path(), attacks, recording.attack_frames));
  }
}

void verify_graphs(const GraphSetView& view, std::vector<std::string>& wrong) {
  const GraphSpans& graphs = view.graphs();
  for (int64_t g = 0; g < graphs.graphs() && wrong.size() < kMostFindings; ++g) {
    const auto at = static_cast<size_t>(g);
    const auto ordered = [&](std::span<const int64_t> pointers) {
      return pointers[at] >= 0 && pointers[at] <= pointers[at + 1] && pointers[at + 1] <= pointers.back();
    };
    if (!ordered(graphs.node_ptr) || !ordered(graphs.edge_ptr)) {
      wrong.push_back(fmt::format("graph {}: its pointers run backwards or out of the columns", g));
      continue;
    }
    const int64_t nodes = graphs.node_ptr[at + 1] - graphs.node_ptr[at];
    const int64_t first = graphs.edge_ptr[at];
    const int64_t last = graphs.edge_ptr[at + 1];
    for (int64_t e = first; e < last; ++e) {
      const int32_t source = graphs.edges[static_cast<size_t>(2 * e)];
      const int32_t target = graphs.edges[static_cast<size_t>(2 * e + 1)];
      if (source >= 0 && source < nodes && target >= 0 && target < nodes) continue;
      wrong.push_back(fmt::format("graph {}: edge {} joins {} and {}, it has {} nodes", g, e - first, source,
                                  target, nodes));
      break;
    }
  }
  const auto finite = [](std::span<const float> values) {
    return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
  };
  if (!finite(graphs.x)) wrong.emplace_back("column 'x' holds values that are not finite");
  if (!finite(graphs.edge_attr)) wrong.emplace_back("column 'edge_attr' holds values that are not finite");
  if (!finite(graphs.pos)) wrong.emplace_back("column 'pos' holds coordinates that are not finite");
  const auto infinite = [](std::span<const float> values) {
    return std::ranges::any_of(values, [](float value) { return std::isinf(value); });
  };
  if (infinite(graphs.target)) wrong.emplace_back("column 'target' holds infinite values");
  if (infinite(graphs.node_target)) wrong.emplace_back("column 'node_target' holds infinite values");
  for (size_t i = 0; i < graphs.node_y.size() && wrong.size() < kMostFindings; ++i)
    if (graphs.node_y[i] < -1)
      wrong.push_back(
          fmt::format("node {}: node_y {} is neither a class nor -1 (unlabelled)", i, graphs.node_y[i]));
}

}  // namespace

std::vector<std::string> verify_data_set(const std::filesystem::path& folder) {
  std::vector<std::string> wrong;
  const DataSetView set(folder);
  verify_checksums(set, wrong);
  try {
    if (set.kind() == "frames") verify_frames(FramesView(folder), kMostFindings, wrong);
    if (set.kind() == "graph") verify_graph(GraphView(folder), wrong);
    if (set.kind() == "graph_set") verify_graphs(GraphSetView(folder), wrong);
  } catch (const InputError& error) {  // checksums tell more than what does not agree
    wrong.emplace_back(error.what());
  }
  return wrong;
}

void require_sound(const FramesView& frames) {
  std::vector<std::string> wrong;
  verify_frames(frames, 1, wrong);
  if (!wrong.empty())
    throw InputError(
        fmt::format("{}: {}; make the set again (--force), `plimsoll verify` finds all that is wrong",
                    frames.set().folder().string(), wrong.front()));
}

}  // namespace plimsoll
