#include "can/simulate/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <tuple>

#include "base/error.h"
#include "can/simulate/bus_simulator.h"
#include "can/simulate/recording_sink.h"
#include "can/simulate/transfer.h"

namespace plimsoll {
namespace {

constexpr int64_t kMaxFrames = 10'000'000'000;
constexpr int64_t kAttackFreeShares = 4;
constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kFirstStart = 1'600'000'000 * kSecond;
constexpr int64_t kBetweenStarts = 1'000'000 * kSecond;

// A random message that is sent at least ten times a second.
uint32_t draw_target(const Vehicle& vehicle, uint64_t seed, uint32_t recording) {
  SimulationDraws draws(seed, Draw::target, recording, 0);
  for (;;) {
    const Message& message = vehicle.messages[draws.below(static_cast<uint32_t>(vehicle.messages.size()))];
    if (message.period_us <= 100'000) return message.can_id;
  }
}

}  // namespace

std::vector<SimulatedRecording> simulated_recordings(const SimulateOptions& options) {
  if (options.frames > kMaxFrames)
    throw UsageError(fmt::format("{} frames are more than {}", options.frames, kMaxFrames));
  if (options.vehicles < 2)
    throw UsageError("a collection needs at least two vehicles: one is in the training splits, one is not");
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

  // The order is that in which `plimsoll ingest` sorts captures, so that `simulate` and `ingest` give the
  // same columns.
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
  WillHold files;
  if (options.captures != nullptr)
    files = [&](const std::filesystem::path& file) {
      return std::ranges::any_of(recordings, [&](const SimulatedRecording& recording) {
        return file == CaptureSink::file_of(recording.split, recording.name, *options.captures);
      });
    };
  if (auto existing = find_output(options.out, options.force, provenance, {}, files)) return *existing;

  std::unique_ptr<RecordingSink> sink;
  if (options.captures != nullptr)
    sink = std::make_unique<CaptureSink>(options.out, options.force, *options.captures);
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

}  // namespace plimsoll
