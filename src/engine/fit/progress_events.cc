#include "engine/fit/progress_events.h"

#include <algorithm>

#include "memory/ledger.h"
#include "memory/meter.h"

namespace plimsoll {
namespace {

using Seconds = std::chrono::duration<double>;

Json held_by_tag() {
  Json tags = Json::object();
  for (int t = 0; t < kTags; ++t)
    if (const int64_t bytes = Ledger::process().held(static_cast<Tag>(t)); bytes > 0)
      tags[tag_name(static_cast<Tag>(t))] = bytes;
  return tags;
}

}  // namespace

void ProgressEvents::report(const Position& position, int64_t done, int64_t total) {
  const Clock::time_point now = Clock::now();
  const double seconds = Seconds(now - last_).count();
  const bool first = last_done_ < 0;
  if (!first && seconds < std::clamp(Seconds(now - start_).count() / 60, 1.0, 10.0)) return;
  const BlockRunner::Times times = runner_.times();
  const BlockRunner::Times did{times.working - last_times_.working, times.reading - last_times_.reading,
                               times.memory - last_times_.memory, times.order - last_times_.order};
  const bool pressed = run_.pressure != nullptr && run_.pressure->level() > 0;
  const int workers = runner_.workers();
  Json event = {{"epoch", position.epoch},
                {"step", position.step},
                {"done", done},
                {"total", total},
                {"graphs_per_s", first ? Json() : Json(static_cast<double>(done - last_done_) / seconds)},
                {"blocks_in_flight", workers},
                {"ledger_bytes", Ledger::process().held()},
                {"held", held_by_tag()},
                {"anonymous_bytes", process_memory().anonymous},
                {"working", did.working / seconds / workers},
                {"waited_reading", did.reading / seconds / workers},
                {"waited_memory", did.memory / seconds / workers},
                {"waited_order", did.order / seconds / workers},
                {"binds", bottleneck(did, seconds, workers, run_.memory.threads)},
                {"reruns", runner_.reruns()},
                {"pressure", pressed ? run_.pressure->level() : 0},
                {"pressure_reason", pressed ? run_.pressure->reason() : ""}};
  if (run_.device != nullptr)
    if (const auto reading = run_.device->reading())
      event["device"] = {{"process_bytes", reading->held},
                         {"used_bytes", reading->used},
                         {"busy", reading->busy ? Json(*reading->busy) : Json()}};
  journal_.write("progress", event);
  last_ = now;
  last_done_ = done;
  last_times_ = times;
}

}  // namespace plimsoll
