#include "can/tasks/score_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "io/csv_field.h"
#include "io/file.h"

namespace plimsoll {
namespace {

// The recording that contains a graph.
const GraphRange& recording_of(const GraphSetTables& tables, int64_t graph) {
  return *std::ranges::find_if(tables.recordings, [graph](const GraphRange& recording) {
    return graph >= recording.first_graph && graph < recording.first_graph + recording.graphs;
  });
}

}  // namespace

void write_scores(const std::filesystem::path& path, const EvaluatedData& data,
                  std::span<const EvaluatedList> lists, std::span<const DetectorScores> detectors) {
  replace_file(path, [&](File& file) {
    std::string lines = "split,recording,window,label,detector,seed,score\n";
    const auto write_lines = [&] {
      file.write(lines.data(), lines.size());
      lines.clear();
    };
    constexpr size_t kChunk = 3072;
    for (const EvaluatedList& list : lists)
      for (const DetectorScores& detector : detectors) {
        const GraphRange* recording = nullptr;
        std::string leading_fields;
        const std::string detector_fields = fmt::format("{},{}", csv_field(detector.name), detector.seed);
        for (const int64_t g : list.graphs) {
          if (recording == nullptr || g >= recording->first_graph + recording->graphs) {
            recording = &recording_of(*data.tables, g);
            leading_fields = csv_field(list.name) + "," + csv_field(recording->name);
          }
          const auto at = static_cast<size_t>(g);
          lines += fmt::format("{},{},{},{},{:.9g}\n", leading_fields, g - recording->first_graph,
                               data.truth[at], detector_fields, detector.scores[at]);
          if (lines.size() > kChunk) write_lines();
        }
      }
    write_lines();
  });
}

}  // namespace plimsoll
