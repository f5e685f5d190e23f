#include "can/simulate/attacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace plimsoll {
namespace {

constexpr std::array<const char*, kAttackKinds> kNames = {
    "DoS", "fuzzing", "spoofing", "replay", "suppression", "masquerade", "injection", "flooding"};
constexpr uint32_t kStandardIds = 0x800;
constexpr int64_t kBursts = 8;         // Bursts per recording.
constexpr uint32_t kHighestRate = 10;  // Maximum rate of injection, in multiples of the target's rate.

AttackKind parse_attack(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (name == kNames[i]) return static_cast<AttackKind>(i);
  throw UsageError(
      fmt::format("attack '{}' is not known; expected none, or some of {}", name, fmt::join(kNames, ",")));
}

}  // namespace

const char* attack_name(AttackKind kind) {
  return kNames[static_cast<size_t>(kind)];
}

std::vector<std::string> attack_names(const std::vector<AttackKind>& kinds) {
  std::vector<std::string> names;
  names.reserve(kinds.size());
  for (const AttackKind kind : kinds) names.emplace_back(attack_name(kind));
  return names;
}

std::vector<AttackKind> parse_attacks(std::string_view names) {
  std::vector<AttackKind> attacks;
  if (names == "none") return attacks;
  for (;;) {
    const size_t comma = names.find(',');
    const AttackKind attack = parse_attack(names.substr(0, comma));
    if (std::find(attacks.begin(), attacks.end(), attack) != attacks.end())
      throw UsageError(fmt::format("attack '{}' is named twice", attack_name(attack)));
    attacks.push_back(attack);
    if (comma == std::string_view::npos) return attacks;
    names.remove_prefix(comma + 1);
  }
}

int64_t cycle_of(int64_t duration_ns) {
  return std::max<int64_t>(duration_ns / kBursts / kMicrosecond, 1) * kMicrosecond;
}

Burst burst_of(const AttackPlan& plan, int64_t cycle) {
  // Computed in steps of 1/1024 of a cycle and in whole microseconds, so that simulated times stay whole
  // microseconds.
  SimulationDraws draws(plan.seed, Draw::attack, plan.recording, static_cast<uint32_t>(2 * cycle));
  const int64_t length = 205 + draws.below(52);  // 20.0 % to 25.0 %.
  // The burst ends at or before the end of the cycle.
  const int64_t offset = 256 + draws.below(static_cast<uint32_t>(769 - length));
  const auto share = [&](int64_t parts) {
    return (plan.cycle_ns / 1024 * parts + plan.cycle_ns % 1024 * parts / 1024) / kMicrosecond * kMicrosecond;
  };
  const int64_t begin = plan.first_ns + cycle * plan.cycle_ns + share(offset);
  return {begin, begin + share(length)};
}

AttackedFrames::AttackedFrames(FrameSource& frames, const AttackPlan& plan)
    : frames_(frames),
      plan_(plan),
      flood_id_(SimulationDraws(plan.seed, Draw::target, plan.recording, 1).one_in(2) ? plan.lowest : 0),
      clock_(plan.first_ns),
      previous_ns_(plan.first_ns),
      draws_(plan.seed, Draw::attack, plan.recording, 1) {
  if (plan.kind == AttackKind::replay) heard_.resize(kReplayed);
  begin_cycle(0);
  take_ahead();
}

void AttackedFrames::begin_cycle(int64_t cycle) {
  burst_ = burst_of(plan_, cycle);
  cycle_end_ = plan_.first_ns + (cycle + 1) * plan_.cycle_ns;
  draws_ = SimulationDraws(plan_.seed, Draw::attack, plan_.recording, static_cast<uint32_t>(2 * cycle + 1));
  // Changes two adjacent bytes; the first one always changes.
  mask_ = uint64_t{draws_.bits()} << 8 & 0xFF00;
  mask_ |= 1 + draws_.below(0xFF);
  started_ = false;
  has_pending_ = false;
  heard_frames_ = 0;
  replayed_ = 0;
}

void AttackedFrames::take_ahead() {
  more_ = frames_.next(ahead_);
  if (!more_) return;
  clock_ = std::max(clock_, ahead_.time_ns);
  if (clock_ >= cycle_end_) begin_cycle((clock_ - plan_.first_ns) / plan_.cycle_ns);
  if (!started_ && clock_ >= burst_.begin) begin_burst();
}

void AttackedFrames::begin_burst() {
  started_ = true;
  const bool injection = plan_.kind == AttackKind::injection;
  if (injection || plan_.kind == AttackKind::flooding) {
    if (target_frames_ < (injection ? 2 : 1)) return;
    pending_ = forged(target_);
  }
  if (injection) pace_injection();
  pending_.time_ns = burst_.begin;
  choose_next();
}

void AttackedFrames::pace_injection() {
  const int64_t period_ns = (target_last_ns_ - target_first_ns_) / (target_frames_ - 1);
  const int64_t interval_us = period_ns / (1 + draws_.below(kHighestRate)) / kMicrosecond;
  // Draws have 32 bits; as microseconds that is more than an hour.
  interval_us_ =
      static_cast<uint32_t>(std::clamp<int64_t>(interval_us, 1, std::numeric_limits<uint32_t>::max()));
  slot_ns_ = burst_.begin + draws_.below(interval_us_) * kMicrosecond;
}

void AttackedFrames::hear(const CanFrame& frame) {
  target_ = frame;
  if (target_frames_++ == 0) target_first_ns_ = clock_;
  target_last_ns_ = clock_;
}

void AttackedFrames::set_pending(int64_t time_ns, const CanFrame& frame) {
  has_pending_ = time_ns < burst_.end;
  pending_ = frame;
  pending_.time_ns = time_ns;
  pending_.label = 1;
  pending_.channel = plan_.channel;
  pending_.row = -1;
}

// Chooses the next frame to inject, for attacks that send independently of the target.
void AttackedFrames::choose_next() {
  const int64_t last = pending_.time_ns;
  switch (plan_.kind) {
    case AttackKind::dos:
      return set_pending(last + (400 + draws_.below(201)) * kMicrosecond, {.can_id = flood_id_, .length = 8});
    case AttackKind::fuzzing: {
      const int64_t time = last + (500 + draws_.below(1001)) * kMicrosecond;
      const uint32_t id = draws_.below(kStandardIds);
      const uint64_t data = uint64_t{draws_.bits()} << 32 | draws_.bits();
      return set_pending(time, {.data = data, .can_id = id, .length = 8});
    }
    case AttackKind::replay: {
      const uint64_t known = std::min<uint64_t>(heard_frames_, kReplayed);
      if (known == 0) return;  // No frame was heard.
      const auto heard = [&](uint64_t i) -> const CanFrame& {
        return heard_[(heard_frames_ - known + i % known) % kReplayed];
      };
      const CanFrame& frame = heard(replayed_);
      const int64_t pace =
          replayed_ % known == 0 ? kMicrosecond : frame.time_ns - heard(replayed_ - 1).time_ns;
      ++replayed_;
      return set_pending(last + std::max<int64_t>(pace, kMicrosecond), frame);
    }
    case AttackKind::injection: {
      const int64_t due = slot_ns_;
      slot_ns_ += interval_us_ * kMicrosecond;
      return set_pending(due + draws_.below(interval_us_ / 10 + 1) * kMicrosecond, pending_);
    }
    case AttackKind::flooding:
      return set_pending(last + (400 + draws_.below(201)) * kMicrosecond, pending_);
    case AttackKind::spoofing:
    case AttackKind::suppression:
    case AttackKind::masquerade:
      return;
  }
}

CanFrame AttackedFrames::forged(CanFrame frame) const {
  frame.data ^= mask_ & payload_mask(frame.length);
  frame.label = 1;
  return frame;
}

// Stores the intended frame in `frame` and returns true if the gap before the source's next frame is long
// enough.
bool AttackedFrames::inject(CanFrame& frame) {
  if (!has_pending_) return false;
  pending_.time_ns = std::max(pending_.time_ns, previous_ns_ + plan_.spacing_ns);
  has_pending_ = pending_.time_ns < burst_.end;
  if (!has_pending_ || pending_.time_ns > ahead_.time_ns - plan_.spacing_ns) return false;
  frame = pending_;
  has_pending_ = false;
  choose_next();
  return true;
}

bool AttackedFrames::next(CanFrame& frame) {
  while (more_) {
    if (inject(frame)) {
      previous_ns_ = frame.time_ns;
      return true;
    }
    frame = ahead_;
    const bool attacked = in_burst(frame.time_ns);
    const bool target = frame.can_id == plan_.target;
    if (attacked && target && plan_.kind == AttackKind::suppression) {
      silent_ = plan_.label_silence;
      take_ahead();
      continue;
    }
    if (target) {
      silent_ = false;
      hear(frame);
    }
    if (silent_) frame.label = 1;
    if (attacked && target && plan_.kind == AttackKind::masquerade) frame = forged(frame);
    if (attacked && target && plan_.kind == AttackKind::spoofing && !has_pending_)
      set_pending(frame.time_ns + (500 + draws_.below(1501)) * kMicrosecond, forged(frame));
    if (plan_.kind == AttackKind::replay && !started_) heard_[heard_frames_++ % kReplayed] = frame;
    previous_ns_ = frame.time_ns;
    take_ahead();
    return true;
  }
  return false;
}

bool MergedFrames::attacked_comes_first() const {
  if (of_attacked_.row >= 0) return of_attacked_.row < of_others_.row;
  return of_attacked_.time_ns <= of_others_.time_ns || attacked_.next_row() < of_others_.row;
}

bool MergedFrames::next(CanFrame& frame) {
  if (!has_attacked_) has_attacked_ = attacked_.next(of_attacked_);
  if (!has_other_) has_other_ = others_.next(of_others_);
  if (!has_attacked_ && !has_other_) return false;
  const bool attacked = has_attacked_ && (!has_other_ || attacked_comes_first());
  frame = attacked ? of_attacked_ : of_others_;
  (attacked ? has_attacked_ : has_other_) = false;
  return true;
}

}  // namespace plimsoll
