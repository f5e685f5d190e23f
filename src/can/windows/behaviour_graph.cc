#include "can/windows/behaviour_graph.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "can/profile/unknown_ids.h"

namespace plimsoll {
namespace {

constexpr int64_t kWord = 8;          // Bytes of a word.
constexpr int64_t kPlainlyEarly = 4;  // One quarter of two gaps.

size_t at(int64_t index) {
  return static_cast<size_t>(index);
}

uint64_t word_of(const uint8_t* data) {
  uint64_t word = 0;
  std::memcpy(&word, data, kWord);
  return word;
}

// std::popcount is a call into libgcc where the processor is not known to have the instruction.
int32_t bits_of(uint64_t word) {
  word -= word >> 1 & 0x5555555555555555;
  word = (word & 0x3333333333333333) + (word >> 2 & 0x3333333333333333);
  word = (word + (word >> 4)) & 0x0F0F0F0F0F0F0F0F;
  return static_cast<int32_t>(word * 0x0101010101010101 >> 56);
}

}  // namespace

void BehaviourGraph::append(const FrameWindow& window, const BehaviourProfile& profile, GraphBlock& block) {
  profile_ = &profile;
  keys_ = profile.vocabulary().keys(frames_, *window.recording);
  see_frames(window);
  look_back(window);
  compare_frames(window);
  find_silence(window);
  if (window.recording->has_payload) find_still(window);
  transitions_.group(nodes_.size());
  for (const Transitions::Edge& edge : transitions_.edges()) {
    ++nodes_[at(edge.source)].out;
    ++nodes_[at(edge.target)].in;
    if (edge.source == edge.target) nodes_[at(edge.source)].repeats = edge.count;
  }
  write_nodes(window, block);
  write_edges(window, block);
  slots_.clear(nodes_);
  const auto labels = frames_.label.subspan(at(window.first), at(window.count));
  block.node_ptr.push_back(block.node_ptr.back() + static_cast<int64_t>(nodes_.size() + overdue_.size()));
  block.edge_ptr.push_back(block.edge_ptr.back() + static_cast<int64_t>(transitions_.edges().size()));
  block.y.push_back(std::find(labels.begin(), labels.end(), uint8_t{1}) != labels.end() ? 1 : 0);
}

void BehaviourGraph::prefetch(const FrameWindow& window) const {
  constexpr int64_t kNear = 128;  // Most IDs have their predecessor within this number of frames.
  const int64_t start = window.recording->first_frame;
  const auto fetch = [&](const auto& column, int64_t back, int64_t row) {
    const auto* const from = column.data() + std::max(start, window.first - back) * row;
    const auto* const end = column.data() + (window.first + window.count) * row;
    for (const auto* p = from; p < end; p += 64 / sizeof(*p)) __builtin_prefetch(p);
  };
  fetch(frames_.can_id, BehaviourProfile::kLookBack, 1);
  fetch(frames_.time_ns, kNear, 1);
  fetch(frames_.data, kNear, frames_.width);
  fetch(frames_.length, kNear, 1);
  fetch(frames_.label, 0, 1);
}

void BehaviourGraph::see_frames(const FrameWindow& window) {
  nodes_.clear();
  node_of_.resize(at(window.count));
  transitions_.rows.resize(at(std::max<int64_t>(window.count - 1, 0)));
  int32_t previous = 0;
  for (int32_t p = 0; p < window.count; ++p) {
    const MessageKey key = keys_[at(window.first + p)];
    const auto next = static_cast<int32_t>(nodes_.size());
    const int32_t slot = slots_.find_or_add(key, next);
    if (slot == next) {
      nodes_.emplace_back();
      nodes_.back().key = key;
      nodes_.back().index = profile_->vocabulary().index(key);
      nodes_.back().first = p;
    }
    Node& node = nodes_[at(slot)];
    ++node.count;
    node.last = p;
    node_of_[at(p)] = slot;
    if (p > 0) transitions_.rows[at(p - 1)] = {previous, slot};
    previous = slot;
  }
}

// Collects what the window's IDs did before the window. Reads at most kLookBack frames, so that any window
// can be made alone and a stream need not keep more frames.
void BehaviourGraph::look_back(const FrameWindow& window) {
  const int64_t start = std::max(window.recording->first_frame, window.first - BehaviourProfile::kLookBack);
  looked_back_ = static_cast<int32_t>(window.first - start);
  before_.assign(nodes_.size() + 1, {});
  Before* const before = before_.data() + 1;  // Index -1 is for IDs that the window does not have.
  for (int32_t k = 0; k < looked_back_; ++k) {
    Before& seen = before[slots_.find(keys_[at(start + k)])];
    seen.first = std::min(seen.first, k);
    seen.before_last = seen.count > 0 ? seen.last : -1;
    seen.last = k;
    ++seen.count;
  }
  const bool has_time = window.recording->has_time;
  for (size_t n = 0; n < nodes_.size(); ++n) {
    const Before& seen = before_[n + 1];
    nodes_[n].before = seen.count;
    if (seen.count > 0) nodes_[n].previous = start + seen.last;
    if (seen.count > 1) nodes_[n].before_previous = start + seen.before_last;
    if (seen.count > 1 && has_time)
      nodes_[n].gap_before = scaled_log(static_cast<double>(gap_ns(frames_.time_ns[at(start + seen.first)],
                                                                   frames_.time_ns[at(start + seen.last)])) /
                                        static_cast<double>(seen.count - 1));
  }
}

// Compares each frame with the previous one of its ID.
void BehaviourGraph::compare_frames(const FrameWindow& window) {
  const bool has_time = window.recording->has_time;
  const bool has_payload = window.recording->has_payload;
  for (int64_t p = 0; p < window.count; ++p) {
    const int64_t frame = window.first + p;
    Node& node = nodes_[at(node_of_[at(p)])];
    const int64_t before_previous = std::exchange(node.before_previous, node.previous);
    const int64_t previous = std::exchange(node.previous, frame);
    if (has_time && previous >= 0) compare_times(node, frame, previous, before_previous);
    if (has_payload) compare_payload(node, frame, previous);
  }
}

void BehaviourGraph::compare_times(Node& node, int64_t frame, int64_t previous,
                                   int64_t before_previous) const {
  const int64_t time = frames_.time_ns[at(frame)];
  const double gap = scaled_log(static_cast<double>(gap_ns(frames_.time_ns[at(previous)], time)));
  ++node.gaps;
  node.gap_sum += gap;
  node.gap_squares += gap * gap;
  node.gap_min = std::min(node.gap_min, gap);
  node.gap_max = std::max(node.gap_max, gap);
  if (before_previous < 0) return;
  // The gap after a late frame is short, but the last two gaps together are as long as usual unless there is
  // an extra frame.
  const int64_t two = bounded_gap_ns(frames_.time_ns[at(before_previous)], time);
  node.min_two_gaps = std::min(node.min_two_gaps, two);
  node.early += two + two / kPlainlyEarly < profile_->id(node.index).min_two_gaps;
}

void BehaviourGraph::compare_payload(Node& node, int64_t frame, int64_t previous) const {
  const auto length_of = [&](int64_t index) {
    return std::min<int32_t>(frames_.length[at(index)], static_cast<int32_t>(frames_.width));
  };
  const uint8_t* data = &frames_.data[at(frame * frames_.width)];
  const int32_t length = length_of(frame);
  node.lengths += length;
  node.empty += length == 0;
  node.unusual += length != profile_->id(node.index).length;
  for (int64_t k = 0; k < frames_.width; k += kWord) node.ones += bits_of(word_of(data + k));
  for (size_t k = 0; k < kPayloadBytes; ++k) node.bytes[k] += data[k];
  const uint8_t* old = previous < 0 ? nullptr : &frames_.data[at(previous * frames_.width)];
  expect_payload(node, data, old);
  if (previous < 0) {
    node.still = 1;
    return;
  }
  const int32_t old_length = length_of(previous);
  int32_t changed = 0;
  for (int64_t k = 0; k < frames_.width; k += kWord) changed += bits_of(word_of(data + k) ^ word_of(old + k));
  ++node.pairs;
  node.length_changes += length != old_length;
  const bool same = changed == 0 && length == old_length;
  node.same += same;
  node.still = same ? node.still + 1 : 1;
  node.changed_bits += changed;
  node.compared_bits += 8 * std::max(length, old_length);
  for (size_t k = 0; k < kPayloadBytes; ++k) node.changes[k] += data[k] != old[k];
}

// Finds how long the payloads that are expected to change have been constant. If all payloads of an ID in the
// window are equal, earlier frames are read too.
void BehaviourGraph::find_still(const FrameWindow& window) {
  int64_t pending = 0;
  for (Node& node : nodes_) {
    node.all_still =
        node.pairs == node.count && node.same == node.pairs && profile_->id(node.index).longest_still > 0;
    if (node.all_still) node.still = node.count;
    pending += node.all_still;
  }
  const auto payload = [&](int64_t frame) {
    return frames_.data.subspan(at(frame * frames_.width), at(frames_.width));
  };
  for (int64_t frame = window.first - 1; frame >= window.first - looked_back_ && pending > 0; --frame) {
    const int32_t slot = slots_.find(keys_[at(frame)]);
    if (slot < 0 || !nodes_[at(slot)].all_still) continue;
    Node& node = nodes_[at(slot)];
    const bool same = frames_.length[at(frame)] == frames_.length[at(node.previous)] &&
                      std::ranges::equal(payload(frame), payload(node.previous));
    node.still += same;
    node.all_still = same;
    pending -= !same;
  }
}

// `old` is null for the first frame of an ID.
void BehaviourGraph::expect_payload(Node& node, const uint8_t* data, const uint8_t* old) const {
  const BehaviourProfile::Id& id = profile_->id(node.index);
  if (!id.has_expectations) return;
  node.unfixed += ((word_of(data) ^ id.fixed_value) & id.fixed_bits) != 0;
  if (old == nullptr) return;
  bool jumps = false;
  bool broken = false;
  for (size_t k = 0; k < kPayloadBytes; ++k) {
    jumps |= std::max(data[k], old[k]) - std::min(data[k], old[k]) > id.max_change[k];
    broken |= ((data[k] - old[k]) & id.counter_mask[k]) != id.counter_step[k];
  }
  node.jumps += jumps;
  node.broken += broken;
}

// Finds how long each ID has been silent at the window's end. An ID that the look-back does not contain
// either has been silent at least since the look-back began.
void BehaviourGraph::find_silence(const FrameWindow& window) {
  overdue_.clear();
  if (!window.recording->has_time || window.count == 0) return;
  const auto times = frames_.time_ns.subspan(at(window.first), at(window.count));
  const int64_t end = *std::max_element(times.begin(), times.end());
  const auto silence_since = [&](int64_t frame) { return bounded_gap_ns(frames_.time_ns[at(frame)], end); };
  missing_.assign(at(profile_->vocabulary().size()) + 1, 0);
  for (const int32_t index : profile_->expected()) missing_[at(index)] = 1;
  auto missing = static_cast<int64_t>(profile_->expected().size());
  int64_t unknown = 0;
  for (Node& node : nodes_) {
    node.silence = silence_since(node.previous);
    missing -= std::exchange(missing_[at(node.index)], uint8_t{0});
    unknown += !profile_->is_known(node.index, node.key);
  }
  if (is_another_vehicle(std::ssize(nodes_), unknown)) return;  // No ID is expected of another vehicle.
  const auto heard = [&](int32_t index, int64_t silence) {
    if (silence > profile_->id(index).longest_gap) overdue_.push_back({index, silence});
  };
  const int64_t start = window.first - looked_back_;
  for (int64_t frame = window.first - 1; frame >= start && missing > 0; --frame) {
    const int32_t index = profile_->vocabulary().index(keys_[at(frame)]);
    if (std::exchange(missing_[at(index)], uint8_t{0}) == 0) continue;
    --missing;
    heard(index, silence_since(frame));
  }
  if (missing > 0)
    for (const int32_t index : profile_->expected())
      if (missing_[at(index)] != 0) heard(index, silence_since(start));
  std::ranges::sort(overdue_, {}, &Overdue::index);
}

MessageKeys BehaviourGraph::node_ids() const {
  MessageKeys ids;
  for (const Node& node : nodes_) ids.push_back(node.key);
  for (const Overdue& id : overdue_) ids.push_back(profile_->vocabulary().ids().keys[at(id.index)]);
  return ids;
}

}  // namespace plimsoll
