#include "can/simulate/inject.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>

#include "base/error.h"
#include "can/frames/verify_frames.h"
#include "can/simulate/bus_simulator.h"
#include "can/simulate/periodic_ids.h"
#include "store/column_check.h"

namespace plimsoll {
namespace {

// A recording to write: a recording of the set, unchanged or with an attack added.
struct Planned {
  const Recording* source;
  std::string name;
  std::optional<AttackKind> attack;
  uint32_t number = 0;  // Number of the attack.
  MessageKey target = 0;
};

// Options with their default values are left out, so that sets made before these options existed keep their
// provenance.
Json provenance_of(const FramesView& view, const InjectOptions& options) {
  Json named = {{"inject", attack_names(options.attacks)}, {"seed", options.seed}};
  if (options.target == TargetChoice::periodic) named["target"] = "periodic";
  if (options.label_silence) named["label_silence"] = true;
  if (options.keep) named["keep"] = true;
  return make_provenance({view.identity()}, std::move(named));
}

FrameSpans frames_of(const FramesView& view, const Recording& recording) {
  return view.frames().part(recording.first_frame, recording.frames);
}

// Labels decide whether a recording is benign; without labels, its name does.
bool may_be_injected(const Recording& recording) {
  const bool silent = recording.attack && recording.attack->starts_with("suppress");
  const bool benign = recording.labelled ? recording.attack_frames == 0 && !silent : !recording.attack;
  return benign && recording.has_time && !recording.copy_of && recording.frames > 0;
}

uint64_t draw_64_bits(SimulationDraws& draws) {
  return (uint64_t{draws.bits()} << 32) | draws.bits();
}

// The message of a random frame with a payload, or of any frame if none is found.
MessageKey draw_target(const FrameSpans& frames, SimulationDraws draws) {
  size_t row = 0;
  for (int tries = 0; tries < 100; ++tries) {
    row = draw_64_bits(draws) % frames.can_id.size();
    if (frames.length[row] > 0) break;
  }
  return frames.key(row);
}

// The message of a random frame of these IDs, which must not be empty.
MessageKey draw_target(std::span<const PeriodicId> ids, SimulationDraws draws) {
  uint64_t frames = 0;
  for (const PeriodicId& id : ids) frames += static_cast<uint64_t>(id.frames);
  auto frame = static_cast<int64_t>(draw_64_bits(draws) % frames);
  auto id = ids.begin();
  for (; frame >= id->frames; ++id) frame -= id->frames;
  return id->key;
}

// The lowest ID of a bus, which must have at least one frame.
uint32_t lowest_id(const FrameSpans& frames, uint8_t channel) {
  uint32_t lowest = std::numeric_limits<uint32_t>::max();
  for (size_t i = 0; i < frames.can_id.size(); ++i)
    if (frames.channel.empty() || frames.channel[i] == channel) lowest = std::min(lowest, frames.can_id[i]);
  return lowest;
}

class Injection {
 public:
  Injection(const FramesView& view, const InjectOptions& options) : view_(view), options_(options) {
    for (const Recording& recording : view.recordings()) plan(recording);
    if (attacks_ == 0) refuse();
    if (options.keep) sort();
  }

  SimulateResult write(RecordingSink& sink, const SimulateProgress& progress) const {
    int64_t expected = 0;
    for (const Planned& planned : planned_) expected += planned.source->frames;
    Transfer transfer(sink, expected, progress);
    for (const Planned& planned : planned_) write(planned, transfer);
    SimulateResult result = transfer.result();
    result.left_out = left_out_;
    result.not_periodic = not_periodic_;
    return result;
  }

 private:
  void plan(const Recording& recording) {
    if (options_.keep) add({.source = &recording, .name = recording.name, .attack = {}});
    if (!may_be_injected(recording)) {
      ++left_out_;
      return;
    }
    const FrameSpans frames = frames_of(view_, recording);
    const bool periodic = options_.target == TargetChoice::periodic;
    Vector<PeriodicId, Tag::ingest> ids;
    if (periodic) ids = periodic_ids(frames);
    if (periodic && ids.empty()) {
      ++left_out_;
      ++not_periodic_;
      return;
    }
    for (const AttackKind attack : options_.attacks) {
      const SimulationDraws draws(options_.seed, Draw::target, attacks_, 0);
      add({.source = &recording,
           .name = fmt::format("{}-{}", attack_name(attack), recording.name),
           .attack = attack,
           .number = attacks_++,
           .target = periodic ? draw_target(ids, draws) : draw_target(frames, draws)});
    }
  }

  void add(Planned planned) {
    // A growing vector holds its old and its new memory at the same time.
    charge_.add(2 * static_cast<int64_t>(sizeof(Planned)) + heap_bytes(planned.name));
    planned_.push_back(std::move(planned));
  }

  void refuse() const {
    const std::string set = options_.frames.string();
    if (not_periodic_ == 0)
      throw InputError(set + ": has no recording with times and without attack frames to inject into");
    throw InputError(fmt::format(
        "{}: none of the {} recordings to inject into has a periodic ID: 50 frames, a mean gap of at most "
        "200 ms, a standard deviation of half of it; give --target any",
        set, not_periodic_));
  }

  // Sorts recordings in the order in which ingest sorts captures.
  void sort() {
    const auto key = [](const Planned& planned) { return std::tie(planned.source->split, planned.name); };
    std::sort(planned_.begin(), planned_.end(),
              [&](const auto& a, const auto& b) { return key(a) < key(b); });
    const auto twice = std::adjacent_find(planned_.begin(), planned_.end(),
                                          [&](const auto& a, const auto& b) { return key(a) == key(b); });
    if (twice != planned_.end())
      throw InputError(fmt::format(
          "{}: already has a recording '{}' in split '{}'; leave its attack out of --attacks, or leave out "
          "--keep",
          options_.frames.string(), twice->name, twice->source->split));
  }

  void write(const Planned& planned, Transfer& transfer) const {
    const FrameSpans frames = frames_of(view_, *planned.source);
    const bool merged = !frames.channel.empty();
    const auto channel = static_cast<uint8_t>(planned.target >> kChannelShift);
    using Take = RecordedFrames::Take;
    RecordedFrames recorded(frames, merged && planned.attack ? Take::channel : Take::all, channel);
    Recording made = *planned.source;
    made.name = planned.name;
    // The writer finds copies again, because in this order another copy may be the first.
    made.copy_of.reset();
    constexpr int64_t kAll = std::numeric_limits<int64_t>::max();
    if (!planned.attack) return transfer.recording(recorded, kAll, made);

    made.attack = attack_name(*planned.attack);
    const auto [first, last] = std::minmax_element(frames.time_ns.begin(), frames.time_ns.end());
    AttackedFrames attacked(recorded, AttackPlan{.kind = *planned.attack,
                                                 .seed = options_.seed,
                                                 .recording = planned.number,
                                                 .target = static_cast<uint32_t>(planned.target),
                                                 .lowest = lowest_id(frames, channel),
                                                 .channel = channel,
                                                 .first_ns = *first,
                                                 .cycle_ns = cycle_of(*last - *first),
                                                 .spacing_ns = frame_time_us(kPayloadBytes) * kMicrosecond,
                                                 .label_silence = options_.label_silence});
    if (!merged) return transfer.recording(attacked, kAll, made);
    RecordedFrames others(frames, Take::others, channel);
    MergedFrames together(attacked, others);
    transfer.recording(together, kAll, made);
  }

  const FramesView& view_;
  const InjectOptions& options_;
  Charge charge_{Tag::ingest};  // Memory of planned_.
  std::vector<Planned> planned_;
  uint32_t attacks_ = 0;
  int64_t left_out_ = 0;
  int64_t not_periodic_ = 0;
};

}  // namespace

SimulateResult inject_attacks(const InjectOptions& options, const SimulateProgress& progress) {
  const FramesView view(options.frames);
  const Json provenance = provenance_of(view, options);
  if (options.attacks.empty()) throw UsageError("there is no attack to inject; name some with --attacks");
  if (auto existing = find_output(options.out, options.force, provenance, {options.frames})) return *existing;

  if (view.frames().width != kPayloadBytes)
    throw InputError(options.frames.string() +
                     ": has CAN FD payloads; attacks can only be injected into payloads of up to 8 bytes");
  check_columns(view.set(), {.full = true});  // The whole set is read.
  require_sound(view);
  const Injection injection(view, options);
  FramesSink sink(options.out, options.force, provenance);
  const SimulateResult result = injection.write(sink, progress);
  sink.publish();
  return result;
}

}  // namespace plimsoll
