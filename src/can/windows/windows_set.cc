#include "can/windows/windows_set.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"
#include "can/frames/verify_frames.h"
#include "store/column_check.h"
#include "store/output.h"

namespace plimsoll {
namespace {

Json provenance_of(const FramesView& frames, const WindowOptions& windows, const Shard& shard) {
  const auto length = [&](int64_t value) {
    return windows.unit == WindowUnit::frames ? Json(value) : Json(WindowLength{value, windows.unit}.text());
  };
  Json options = {
      {"features", windows.features}, {"window", length(windows.window)}, {"stride", length(windows.stride)}};
  if (windows.calibration.windows > 0) options["calibrate"] = windows.calibration.windows;
  if (!windows.learn_from.splits.empty()) options["vocabulary_from"] = windows.learn_from.splits;
  const Json identity = frames.identity();
  if (!shard.is_all()) {
    Hasher all;
    const std::string text = identity.dump();
    all.add(text.data(), text.size());
    options["shard"] = shard.to_json(all.hex64());
  }
  return make_provenance({identity}, std::move(options));
}

}  // namespace

void WindowsSetOptions::set_lengths(const std::string& window_text, const std::string& stride_text) {
  const WindowLength window = WindowLength::parse(window_text);
  // Windows by time are adjacent unless a stride is given.
  const WindowLength stride = !stride_text.empty()                     ? WindowLength::parse(stride_text)
                              : window.unit == WindowUnit::nanoseconds ? window
                                                                       : WindowLength{100, window.unit};
  if (window.unit != stride.unit)
    throw UsageError(fmt::format("--window {} and --stride {}: expected both as frames or both as time",
                                 window_text, stride_text));
  windows.window = window.value;
  windows.stride = stride.value;
  windows.unit = window.unit;
}

WindowsSetResult make_windows_set(WindowsSetOptions options,
                                  const std::function<void(int64_t, int64_t)>& progress) {
  std::sort(options.windows.learn_from.splits.begin(), options.windows.learn_from.splits.end());
  const FramesView frames(options.frames);
  check_columns(frames.set(), {.full = true});  // All columns are read.
  require_sound(frames);
  const auto source = open_windows(frames, options.windows);
  const Json provenance = provenance_of(frames, options.windows, options.shard);
  const bool made = is_made_already(options.out, options.force, provenance, {options.frames});
  if (!made)
    write_graph_set(*source, options.out, options.force, provenance, options.threads, progress,
                    options.shard);
  const auto [first, end] = options.shard.items(source->graphs());
  return {made, end - first};
}

}  // namespace plimsoll
