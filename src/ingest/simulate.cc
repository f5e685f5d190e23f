#include "ingest/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <tuple>

#include "base/error.h"
#include "ingest/bus_simulator.h"
#include "ingest/recording_sink.h"

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kBatchFrames = 1 << 14;
constexpr int64_t kMostFrames = 10'000'000'000;
constexpr int64_t kBursts = 8;  // in a recording
constexpr int64_t kAttackFreeShares = 4;
constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kFirstStart = 1'600'000'000 * kSecond;
constexpr int64_t kBetweenStarts = 1'000'000 * kSecond;

// Takes recordings from sources to a sink in pieces, and counts.
class Transfer {
 public:
  Transfer(RecordingSink& sink, int64_t expected, const SimulateProgress& progress)
      : sink_(sink), expected_(expected), progress_(progress) {}

  // At most `most` frames; the rest of the source is left.
  void recording(FrameSource& source, int64_t most, const Recording& recording) {
    sink_.begin(recording);
    for (int64_t left = most; left > 0;) {
      read_frames(source, std::min(left, kBatchFrames), batch_);
      const FrameSpans frames = batch_.spans();
      if (frames.size() == 0) break;
      sink_.append(frames);
      left -= frames.size();
      result_.frames += frames.size();
      result_.attack_frames += std::count(frames.label.begin(), frames.label.end(), uint8_t{1});
      progress_(result_.frames, expected_);
    }
    sink_.end(recording);
    ++result_.recordings;
  }
  const SimulateResult& result() const { return result_; }

 private:
  RecordingSink& sink_;
  int64_t expected_;
  const SimulateProgress& progress_;
  FrameBatch batch_;
  SimulateResult result_;
};

Json attack_names(const std::vector<AttackKind>& attacks) {
  Json names = Json::array();
  for (const AttackKind attack : attacks) names.push_back(attack_name(attack));
  return names;
}

// What is at the output already, if it is just what would be written. Errors: Failure if it is not.
std::optional<SimulateResult> find_output(const fs::path& out, bool force, const Json& provenance) {
  if (force || !fs::exists(out)) return std::nullopt;
  if (find_existing(out, provenance) != Existing::same)
    throw Failure(out.string() + " exists already and holds something else; give --force to replace it");
  SimulateResult result;
  result.already_there = true;
  const FramesView view(out);
  for (const Recording& recording : view.recordings()) {
    ++result.recordings;
    result.frames += recording.frames;
    result.attack_frames += recording.attack_frames;
  }
  return result;
}

int64_t cycle_of(int64_t duration_ns) {
  return std::max<int64_t>(duration_ns / kBursts / kMicrosecond, 1) * kMicrosecond;
}

// Labels tell whether a recording is benign; where they cannot, its name does.
bool may_be_injected(const Recording& recording) {
  const bool silent = recording.attack && recording.attack->starts_with("suppress");
  const bool benign = recording.labelled ? recording.attack_frames == 0 && !silent : !recording.attack;
  return benign && recording.has_time && !recording.copy_of && recording.frames > 0;
}

// One of the messages that are sent at least ten times a second.
uint32_t draw_target(const Vehicle& vehicle, uint64_t seed, uint32_t recording) {
  Draws draws(seed, Draw::target, recording, 0);
  for (;;) {
    const Message& message = vehicle.messages[draws.below(static_cast<uint32_t>(vehicle.messages.size()))];
    if (message.period_us <= 100'000) return message.can_id;
  }
}

// The ID of a random frame with a payload; of any frame if none is found.
uint32_t draw_target(const FrameSpans& frames, uint64_t seed, uint32_t recording) {
  Draws draws(seed, Draw::target, recording, 0);
  size_t row = 0;
  for (int tries = 0; tries < 100; ++tries) {
    row = ((uint64_t{draws.bits()} << 32) | draws.bits()) % frames.can_id.size();
    if (frames.length[row] > 0) break;
  }
  return frames.can_id[row];
}

}  // namespace

std::vector<SimulatedRecording> simulated_recordings(const SimulateOptions& options) {
  if (options.frames > kMostFrames)
    throw UsageError(fmt::format("{} frames are more than {}", options.frames, kMostFrames));
  if (options.vehicles < 2) throw UsageError("a collection needs two vehicles: one trains, one does not");
  const auto& attacks = options.attacks;
  const size_t known = attacks.size() - attacks.size() / 3;
  const auto unknown_vehicle = static_cast<uint32_t>(options.vehicles - 1);
  std::vector<SimulatedRecording> recordings;
  const auto add = [&](const char* split, uint32_t vehicle, std::optional<AttackKind> attack) {
    recordings.push_back({split,
                          fmt::format("{}-{}", attack ? attack_name(*attack) : "attack-free", vehicle + 1),
                          vehicle, attack, 0});
  };
  for (uint32_t vehicle = 0; vehicle < unknown_vehicle; ++vehicle) {
    add("train_01_attack_free", vehicle, std::nullopt);
    for (size_t i = 0; i < attacks.size(); ++i) {
      if (i < known) add("train_02_with_attacks", vehicle, attacks[i]);
      add(i < known ? "test_01_known_vehicle_known_attack" : "test_03_known_vehicle_unknown_attack", vehicle,
          attacks[i]);
    }
  }
  for (size_t i = 0; i < known; ++i) add("test_02_unknown_vehicle_known_attack", unknown_vehicle, attacks[i]);

  // As ingest orders captures: both roads give the same columns.
  std::sort(recordings.begin(), recordings.end(), [](const auto& a, const auto& b) {
    return std::tie(a.split, a.name) < std::tie(b.split, b.name);
  });
  const auto shares = [](const SimulatedRecording& r) { return r.attack ? int64_t{1} : kAttackFreeShares; };
  int64_t all_shares = 0;
  for (const SimulatedRecording& recording : recordings) all_shares += shares(recording);
  if (options.frames < all_shares)
    throw UsageError(fmt::format("{} frames are too few for {} recordings; give at least {}", options.frames,
                                 recordings.size(), all_shares));
  int64_t before = 0;
  for (SimulatedRecording& recording : recordings) {
    const auto up_to = [&](int64_t part) { return options.frames * part / all_shares; };
    recording.frames = up_to(before + shares(recording)) - up_to(before);
    before += shares(recording);
  }
  return recordings;
}

SimulateResult simulate_can(const SimulateOptions& options, const SimulateProgress& progress) {
  const std::vector<SimulatedRecording> recordings = simulated_recordings(options);
  const Json provenance = make_provenance(Json::array(), {{"simulate", "can"},
                                                          {"frames", options.frames},
                                                          {"seed", options.seed},
                                                          {"vehicles", options.vehicles},
                                                          {"attacks", attack_names(options.attacks)}});
  if (auto there = find_output(options.out, options.force, provenance)) return *there;

  std::unique_ptr<RecordingSink> sink;
  if (options.text)
    sink = std::make_unique<TextSink>(options.out, options.force, *options.text);
  else
    sink = std::make_unique<FramesSink>(options.out, options.force, provenance);
  Transfer transfer(*sink, options.frames, progress);
  for (size_t i = 0; i < recordings.size(); ++i) {
    const SimulatedRecording& simulated = recordings[i];
    const auto number = static_cast<uint32_t>(i);
    const int64_t start = kFirstStart + static_cast<int64_t>(i) * kBetweenStarts;
    const Vehicle vehicle = make_vehicle(options.seed, simulated.vehicle);
    VehicleFrames due(vehicle, options.seed, number, start);
    std::unique_ptr<AttackedFrames> attacked;
    if (simulated.attack) {
      const int64_t duration_us = simulated.frames * 1'000'000'000 / vehicle.frames_per_1000_s();
      attacked = std::make_unique<AttackedFrames>(
          due, AttackPlan{.kind = *simulated.attack,
                          .seed = options.seed,
                          .recording = number,
                          .target = draw_target(vehicle, options.seed, number),
                          .lowest = vehicle.messages.front().can_id,
                          .first_ns = start,
                          .cycle_ns = cycle_of(duration_us * kMicrosecond)});
    }
    Bus bus(attacked ? static_cast<FrameSource&>(*attacked) : due);
    Recording recording;
    recording.name = simulated.name;
    recording.split = simulated.split;
    if (simulated.attack) recording.attack = attack_name(*simulated.attack);
    transfer.recording(bus, simulated.frames, recording);
  }
  sink->publish();
  return transfer.result();
}

SimulateResult inject_attacks(const InjectOptions& options, const SimulateProgress& progress) {
  const FramesView view(options.frames);
  const Json provenance =
      make_provenance({view.identity()}, {{"inject", attack_names(options.attacks)}, {"seed", options.seed}});
  if (options.attacks.empty()) throw UsageError("there is no attack to inject; name some with --attacks");
  if (auto there = find_output(options.out, options.force, provenance)) return *there;

  if (view.frames().width != kPayloadBytes)
    throw InputError(options.frames.string() + ": has CAN FD payloads; attacks are made up for 8 bytes");
  std::vector<const Recording*> benign;
  int64_t expected = 0;
  for (const Recording& recording : view.recordings()) {
    if (!may_be_injected(recording)) continue;
    benign.push_back(&recording);
    expected += recording.frames * static_cast<int64_t>(options.attacks.size());
  }
  if (benign.empty())
    throw InputError(options.frames.string() +
                     ": has no recording with times and without attack to inject into");

  FramesSink sink(options.out, options.force, provenance);
  Transfer transfer(sink, expected, progress);
  uint32_t number = 0;
  for (const Recording* const recording : benign) {
    const FrameSpans frames = view.frames().part(recording->first_frame, recording->frames);
    const auto [first, last] = std::minmax_element(frames.time_ns.begin(), frames.time_ns.end());
    for (const AttackKind attack : options.attacks) {
      RecordedFrames recorded(frames);
      AttackedFrames attacked(
          recorded, AttackPlan{.kind = attack,
                               .seed = options.seed,
                               .recording = number,
                               .target = draw_target(frames, options.seed, number),
                               .lowest = *std::min_element(frames.can_id.begin(), frames.can_id.end()),
                               .first_ns = *first,
                               .cycle_ns = cycle_of(*last - *first),
                               .spacing_ns = frame_time_us(kPayloadBytes) * kMicrosecond});
      Recording made = *recording;
      made.name = fmt::format("{}-{}", attack_name(attack), recording->name);
      made.attack = attack_name(attack);
      transfer.recording(attacked, std::numeric_limits<int64_t>::max(), made);
      ++number;
    }
  }
  sink.publish();
  SimulateResult result = transfer.result();
  result.left_out = static_cast<int64_t>(view.recordings().size() - benign.size());
  return result;
}

}  // namespace plimsoll
