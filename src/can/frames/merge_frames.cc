#include "can/frames/merge_frames.h"

#include "base/error.h"
#include "can/frames/frames.h"

namespace plimsoll {

Merged merge_frames(const MergeRequest& request) {
  RowMerge merge(request, true);
  if (merge.is_done()) return merge.result(0);
  const std::vector<ShardFolder>& shards = merge.shards();
  std::vector<FramesView> views;
  for (const ShardFolder& shard : shards) {
    views.emplace_back(shard.folder);
    if (views.back().frames().width != views.front().frames().width)
      throw InputError(shard.folder.string() + ": its frames have another payload width than those of " +
                       shards.front().folder.string());
  }
  std::vector<const DataSetView*> sets;
  for (const FramesView& view : views) sets.push_back(&view.set());
  merge.check(sets);
  FramesWriter writer(request.out, request.force, views.front().frames().width, request.files);
  int64_t frames = 0;
  for (const FramesView& view : views)
    for (const Recording& recording : view.recordings()) {
      const FrameSpans part = view.frames().part(recording.first_frame, recording.frames);
      writer.append_recording(part, recording);
      frames += part.size();
      merge.add(part.size() * (static_cast<int64_t>(sizeof(int64_t) + sizeof(uint32_t)) + 2 + part.width));
    }
  writer.publish(merge.take_provenance());
  return merge.result(frames);
}

}  // namespace plimsoll
