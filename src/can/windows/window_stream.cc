#include "can/windows/window_stream.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "can/windows/behaviour_windows.h"
#include "can/windows/compat_windows.h"

namespace plimsoll {
namespace {

template <typename T, Tag kTag>
void drop_front(Vector<T, kTag>& column, int64_t count) {
  column.erase(column.begin(), column.begin() + count);
}

template <typename T, Tag kTag>
void append(Vector<T, kTag>& column, std::span<const T> more, int64_t count) {
  column.insert(column.end(), more.begin(), more.begin() + count);
}

}  // namespace

WindowStream::WindowStream(const WindowOptions& options, TrainedContext known)
    : options_(options),
      vocabulary_(std::move(known.vocabulary)),
      profile_(std::move(known.profile)),
      tables_(feature_tables(options.features)) {
  check_window_options(options);
  if (options.features == WindowFeatures::behaviour && !profile_)
    throw InputError(
        "the model has no benign profile, which behaviour features are compared with; train it again");
  if (vocabulary_.size() == 0) throw InputError("the model has no vocabulary of CAN IDs; train it again");
  if (profile_ && profile_->vocabulary().ids() != vocabulary_.ids())
    throw InputError("the model's vocabulary and its benign profile have different CAN IDs; train it again");
  tables_.vocabulary = vocabulary_.ids();
  recording_.first_frame = 0;
  if (profile_)
    behaviour_.emplace(spans_);
  else
    compat_.emplace(vocabulary_);
}

void WindowStream::begin(const StreamFacts& facts) {
  if (options_.unit == WindowUnit::nanoseconds && !facts.has_time)
    throw InputError("the frames have no times to cut windows by; the model needs windows of " +
                     WindowLength{options_.window, options_.unit}.text());
  if (facts.width != kPayloadBytes && facts.width != BehaviourProfile::kMaxPayload)
    throw UsageError(fmt::format("frames of {} bytes of payload, expected {}, or {} of CAN FD", facts.width,
                                 kPayloadBytes, BehaviourProfile::kMaxPayload));
  recording_.has_time = facts.has_time;
  recording_.has_payload = facts.has_payload;
  recording_.channels.clear();
  scorers_.reset();
  held_.clear();
  held_.width = facts.width;
  clock_.clear();
  ended_ = false;
  waits_ = true;
  latest_ns_.reset();
  dropped_ = next_ = window_first_ = window_frames_ = first_at_ = end_at_ = near_at_ = 0;
}

bool WindowStream::begins_another(int64_t time_ns) {
  if (!latest_ns_ || !recording_.has_time) return false;
  if (gap_ns(time_ns, *latest_ns_) > static_cast<uint64_t>(kMaxBack)) return true;
  const uint64_t silence = gap_ns(*latest_ns_, time_ns);
  if (options_.unit == WindowUnit::frames) return silence > static_cast<uint64_t>(kMaxPause);
  advance(near_at_, clock_.back() - options_.window + 1);
  return clocked() - near_at_ >= kMaxFrames || silence / static_cast<uint64_t>(options_.stride) > kMaxSilence;
}

int64_t WindowStream::add(const FrameSpans& frames, const std::vector<std::string>& channels) {
  if (frames.size() > 0 && frames.channel.empty() != known_channels().empty())
    throw InputError(
        known_channels().empty()
            ? std::string("the frames are of merged channels, but the model is for single channels")
            : fmt::format("the frames record no channel, but the model is for the merged channels {}",
                          fmt::join(known_channels(), ", ")));
  drop_old_frames();
  waits_ = waits_ || frames.size() > 0;
  if (recording_.channels.size() != channels.size()) recording_.channels = channels;
  int64_t count = frames.size();
  for (int64_t f = 0; f < count; ++f) {
    const int64_t time = frames.time_ns[static_cast<size_t>(f)];
    if (begins_another(time)) {
      count = f;
      break;
    }
    latest_ns_ = std::max(latest_ns_.value_or(time), time);
    if (options_.unit == WindowUnit::nanoseconds) {
      if (clock_.empty()) start_ns_ = time;
      const auto passed = static_cast<int64_t>(gap_ns(start_ns_, time));
      clock_.push_back(clock_.empty() ? 0 : std::max(clock_.back(), passed));
    }
  }
  append(held_.time_ns, frames.time_ns, count);
  append(held_.can_id, frames.can_id, count);
  if (!frames.channel.empty()) append(held_.channel, frames.channel, count);
  append(held_.length, frames.length, count);
  append(held_.label, frames.label, count);
  append(held_.data, frames.data, count * frames.width);
  return count;
}

int64_t WindowStream::next_window_first() const {
  if (options_.unit == WindowUnit::nanoseconds) return first_at_;
  return compat_ ? CompatRows::frame_of(next_ * options_.stride) : next_ * options_.stride;
}

int64_t WindowStream::look_ahead() const {
  return waits_ && profile_ ? ExtraFrames::look_ahead(*profile_, recording_) : 0;
}

FrameSpans WindowStream::pending() const {
  const int64_t first = std::min(std::max(next_window_first(), dropped_), total());
  return held_.merged_spans().part(first - dropped_, total() - first);
}

// Drops frames only from time to time, because the remaining frames must be moved.
void WindowStream::drop_old_frames() {
  const int64_t needed = next_window_first();
  const int64_t look_back = behaviour_ ? BehaviourProfile::kLookBack : 0;
  // The last frame is kept: the clock continues from it.
  const int64_t old = std::min(needed - look_back, total() - 1) - dropped_;
  if (old < std::max<int64_t>(BehaviourProfile::kLookBack, total() - dropped_ - old)) return;
  drop_front(held_.time_ns, old);
  drop_front(held_.can_id, old);
  if (!held_.channel.empty()) drop_front(held_.channel, old);
  drop_front(held_.length, old);
  drop_front(held_.label, old);
  drop_front(held_.data, old * held_.width);
  if (!clock_.empty()) drop_front(clock_, old);
  dropped_ += old;
}

bool WindowStream::find_by_frames(StreamedWindow& window) const {
  const int64_t rows = compat_ ? CompatRows::in_frames(total()) : total();
  const int64_t first = next_ * options_.stride;
  if (first + options_.window + look_ahead() > rows) {
    const int64_t windows = compat_ ? CompatWindows::count(total(), options_)
                                    : BehaviourWindows::count(rows, options_.window, options_.stride);
    if (!ended_ || next_ >= windows) return false;
  }
  window.first_frame = first;
  window.frames = std::min(options_.window, rows - first);
  window.partial = window.frames < options_.window;
  return true;
}

// Advances to the first frame that has arrived whose clock is not below `clock`.
void WindowStream::advance(int64_t& at, int64_t clock) const {
  at = std::max(at, dropped_);
  while (at < clocked() && clock_[static_cast<size_t>(at - dropped_)] < clock) ++at;
}

bool WindowStream::find_by_time(StreamedWindow& window) {
  if (clock_.empty()) return false;
  const int64_t begin = next_ * options_.stride;
  const int64_t end = begin + options_.window;
  const int64_t latest = clock_.back();
  // Advance even before the window is complete, so that frames between windows are not held for long.
  advance(first_at_, begin);
  end_at_ = std::max(end_at_, first_at_);
  advance(end_at_, end);
  if ((latest < end || total() < end_at_ + look_ahead()) &&
      (!ended_ || next_ >= BehaviourWindows::count(latest + 1, options_.window, options_.stride)))
    return false;
  window.first_frame = first_at_;
  window.frames = end_at_ - first_at_;
  window.partial = latest < end;
  return true;
}

bool WindowStream::find(StreamedWindow& window) {
  return options_.unit == WindowUnit::nanoseconds ? find_by_time(window) : find_by_frames(window);
}

bool WindowStream::next(StreamedWindow& window) {
  if (!find(window)) return false;
  window.number = next_;
  block_.clear();
  spans_ = held_.merged_spans();
  if (compat_) {
    const CompatRows rows{window.first_frame, window.frames, -dropped_};
    compat_->append(spans_, rows, block_);
    window.first_frame = rows.frame(0) + dropped_;
    window.frames = rows.frames();
  } else {
    behaviour_->append({&recording_, window.first_frame - dropped_, window.frames}, *profile_, block_);
  }
  block_.graph.push_back(next_++);
  window_first_ = window.first_frame;
  window_frames_ = window.frames;
  const int64_t last = std::max(window.first_frame + window.frames - 1, dropped_);
  window.time_ns = spans_.time_ns[static_cast<size_t>(std::min(last, total() - 1) - dropped_)];
  return true;
}

}  // namespace plimsoll
