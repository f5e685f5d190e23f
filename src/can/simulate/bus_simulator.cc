#include "can/simulate/bus_simulator.h"

#include <algorithm>
#include <set>

namespace plimsoll {
namespace {

constexpr int64_t kMicrosecondsPerSecond = 1'000'000;
// The maximum load that Vehicle promises, minus the load of 60 messages with the longest period.
constexpr int64_t kMaxLoadPpm = 635'000;
constexpr std::array<int32_t, 7> kPeriodsMs = {10, 20, 50, 100, 200, 500, 1000};
// Index of a message's period by the place of its ID among the vehicle's IDs, in sixteenths.
constexpr std::array<uint8_t, 16> kPeriodBySixteenth = {0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 5, 6};
constexpr uint32_t kFirstId = 0x040;
constexpr uint32_t kLastId = 0x7EF;

int64_t load_of(const Message& message) {
  return frame_time_us(message.length) * kMicrosecondsPerSecond / message.period_us;
}

uint64_t at_byte(uint64_t value, int byte) {
  return value << (8 * byte);
}

// Lays out the payload: checksum and counter at the end, signals at the front, switches and constants
// between.
void lay_out(Message& message, SimulationDraws& draws) {
  int end = message.length;
  if (end >= 4 && draws.one_in(2)) {
    message.checksum = draws.one_in(2) ? Checksum::sum : Checksum::exclusive_or;
    message.checksum_byte = static_cast<int8_t>(--end);
  }
  uint64_t counted = 0;
  if (end >= 2 && draws.one_in(2)) {
    message.counter_mask = draws.one_in(2) ? 0x0F : 0xFF;
    message.counter_byte = static_cast<int8_t>(--end);
    counted = at_byte(draws.bits() & 0xF0 & ~message.counter_mask, end);
  }
  int begin = 0;
  for (Message::Field& field : message.fields) {
    if (end - begin < 2 || draws.one_in(4)) continue;
    field = {static_cast<int8_t>(begin), static_cast<SimulatedSignal>(draws.below(kSignals)),
             static_cast<uint8_t>(draws.below(3))};
    begin += 2;
  }
  if (begin < end && draws.one_in(2)) message.flag_byte = static_cast<int8_t>(begin++);
  message.constant = counted;
  for (; begin < end; ++begin) {
    const uint32_t kind = draws.below(4);
    message.constant |= at_byte(kind < 2 ? 0 : kind == 2 ? 0xFF : draws.bits() & 0xFF, begin);
  }
}

}  // namespace

uint8_t checksum_of(Checksum kind, uint32_t can_id, uint64_t data) {
  if (kind == Checksum::exclusive_or) {
    data ^= data >> 32;
    data ^= data >> 16;
    return static_cast<uint8_t>(data ^ data >> 8 ^ can_id);
  }
  constexpr uint64_t kEverySecondByte = 0x00FF00FF00FF00FF;
  const uint64_t pairs = (data & kEverySecondByte) + (data >> 8 & kEverySecondByte);
  return static_cast<uint8_t>((pairs * 0x0001000100010001 >> 48) + can_id);
}

int64_t Vehicle::frames_per_1000_s() const {
  int64_t frames = 0;
  for (const Message& message : messages) frames += 1000 * kMicrosecondsPerSecond / message.period_us;
  return frames;
}

Vehicle make_vehicle(uint64_t seed, uint32_t number) {
  SimulationDraws draws(seed, Draw::vehicle, number, 0);
  const uint32_t count = 30 + draws.below(31);
  std::set<uint32_t> ids;
  while (ids.size() < count) ids.insert(kFirstId + draws.below(kLastId - kFirstId + 1));

  Vehicle vehicle;
  int64_t load = 0;
  for (const uint32_t id : ids) {
    Message message;
    message.can_id = id;
    message.length = static_cast<uint8_t>(draws.one_in(4) ? 1 + draws.below(7) : 8);
    const auto sixteenth = static_cast<int64_t>(vehicle.messages.size() * 16 / count);
    const int64_t place = std::clamp<int64_t>(sixteenth + draws.below(5) - 2, 0, 15);
    for (size_t p = kPeriodBySixteenth[static_cast<size_t>(place)]; p < kPeriodsMs.size(); ++p) {
      message.period_us = kPeriodsMs[p] * 1000;
      if (load + load_of(message) <= kMaxLoadPpm) break;
    }
    load += load_of(message);
    message.jitter_us = std::min(message.period_us / 50, 1000);
    lay_out(message, draws);
    vehicle.messages.push_back(message);
  }
  return vehicle;
}

Drive::Drive(uint64_t seed, uint32_t recording) : philox_(seed), recording_(recording) {
  SimulationDraws draws(seed, Draw::start, recording, Vehicle::kMaxMessages);
  const auto below = [&](uint32_t limit) { return static_cast<int32_t>(draws.below(limit)); };
  state_.fill(0);
  state_[static_cast<size_t>(SimulatedSignal::speed)] = below(30'000);
  state_[static_cast<size_t>(SimulatedSignal::rpm)] = 7'000;
  state_[static_cast<size_t>(SimulatedSignal::coolant)] = (15'000 + below(20'000)) << 12;
  state_[static_cast<size_t>(SimulatedSignal::fuel)] = (20'000 + below(40'000)) << 12;
  step();
  next_step_us_ = kStepUs;
}

void Drive::step() {
  const auto state = [this](SimulatedSignal signal) -> int32_t& {
    return state_[static_cast<size_t>(signal)];
  };
  const Philox::Counter drawn =
      philox_(philox_counter(Purpose::simulation, static_cast<uint32_t>(Draw::drive), recording_, 0, steps_));
  const auto around_zero = [](uint32_t bits, int32_t reach) {
    return static_cast<int32_t>(uint64_t{bits} * static_cast<uint32_t>(2 * reach + 1) >> 32) - reach;
  };
  constexpr uint32_t kStepsAGoal = 200;
  constexpr int32_t kGearSpan = 11'000;  // Speed range of a gear.

  if (steps_ % kStepsAGoal == 0) goal_ = static_cast<int32_t>(drawn[0] >> 16) - 8'000;
  int32_t& pedal = state(SimulatedSignal::pedal);
  int32_t& speed = state(SimulatedSignal::speed);
  pedal = std::clamp(pedal + (goal_ - pedal) / 16 + around_zero(drawn[1], 100), 0, 65'535);
  state(SimulatedSignal::brake) =
      std::clamp(state(SimulatedSignal::brake) + (goal_ < 4'000 && speed > 0 ? 900 : -2'500), 0, 50'000);
  speed = std::clamp(speed + (pedal - speed) / 256 - state(SimulatedSignal::brake) / 512, 0, 65'535);
  const int32_t gear = speed / kGearSpan;
  const int32_t in_gear = speed - gear * kGearSpan;
  const int32_t engine = 7'000 + pedal / 16 + (gear == 0 ? in_gear * 2 : 12'000 + in_gear * 3 / 2);
  state(SimulatedSignal::rpm) += (engine - state(SimulatedSignal::rpm)) / 16;
  steering_ = std::clamp(steering_ - steering_ / 128 + around_zero(drawn[2], 400), -30'000, 30'000);
  state(SimulatedSignal::steering) = 32'768 + steering_;
  state(SimulatedSignal::yaw) = 32'768 + static_cast<int32_t>(int64_t{steering_} * speed / 65'536);
  int32_t& coolant = state(SimulatedSignal::coolant);
  coolant += ((38'000 << 12) - coolant) / 16'384 + around_zero(drawn[3], 2'000);
  int32_t& fuel = state(SimulatedSignal::fuel);
  fuel = std::max(fuel - 1 - pedal / 512, 0);

  for (size_t i = 0; i < values_.size(); ++i) {
    const bool slow =
        i == static_cast<size_t>(SimulatedSignal::coolant) || i == static_cast<size_t>(SimulatedSignal::fuel);
    values_[i] = static_cast<uint16_t>(std::clamp(slow ? state_[i] >> 12 : state_[i], 0, 65'535));
  }
  ++steps_;
  next_step_us_ += kStepUs;
}

VehicleFrames::VehicleFrames(const Vehicle& vehicle, uint64_t seed, uint32_t recording, int64_t start_ns)
    : vehicle_(vehicle),
      philox_(seed),
      recording_(recording),
      start_ns_(start_ns),
      drive_(seed, recording),
      states_(vehicle.messages.size()) {
  tree_.fill(~uint64_t{0});
  for (size_t i = 0; i < states_.size(); ++i) {
    SimulationDraws draws(seed, Draw::start, recording, static_cast<uint32_t>(i));
    const Message& message = vehicle.messages[i];
    // Messages start after the jitter, so that no time is before the start of the recording.
    states_[i].due_us = message.jitter_us + draws.below(static_cast<uint32_t>(message.period_us));
    states_[i].counter = draws.bits();
    states_[i].flags = static_cast<uint8_t>(draws.bits() & draws.bits());
    schedule(i);
  }
}

void VehicleFrames::schedule(size_t message) {
  State& state = states_[message];
  const auto reach = static_cast<uint32_t>(vehicle_.messages[message].jitter_us);
  const Philox::Counter drawn =
      philox_(philox_counter(Purpose::simulation, static_cast<uint32_t>(Draw::frame), recording_,
                             static_cast<uint32_t>(message), state.sent));
  const int64_t jitter = static_cast<int64_t>(uint64_t{drawn[0]} * (2 * reach + 1) >> 32) - reach;
  state.noise = drawn[1];
  constexpr uint32_t kFramesAFlag = 64;
  if (drawn[2] % kFramesAFlag == 0) state.flags ^= static_cast<uint8_t>(1U << (drawn[3] & 7));

  size_t node = kLeaves + message;
  tree_[node] = static_cast<uint64_t>(state.due_us + jitter) << kIndexBits | message;
  for (node /= 2; node > 0; node /= 2) tree_[node] = std::min(tree_[2 * node], tree_[2 * node + 1]);
}

uint64_t VehicleFrames::payload(const Message& message, const State& state) const {
  uint64_t data = message.constant;
  for (const Message::Field& field : message.fields) {
    if (field.byte < 0) continue;
    // The last two bits of a sensor are noise.
    const uint32_t value = static_cast<uint32_t>(drive_[field.signal] ^ (state.noise & 3)) >> field.shift;
    data |= at_byte((value >> 8 | value << 8) & 0xFFFF, field.byte);
  }
  if (message.flag_byte >= 0) data |= at_byte(state.flags, message.flag_byte);
  if (message.counter_byte >= 0)
    data |= at_byte((state.counter + state.sent) & message.counter_mask, message.counter_byte);
  if (message.checksum_byte >= 0)
    data |= at_byte(checksum_of(message.checksum, message.can_id, data), message.checksum_byte);
  return data;
}

bool VehicleFrames::next(CanFrame& frame) {
  constexpr uint64_t kIndexMask = (uint64_t{1} << kIndexBits) - 1;
  const size_t index = tree_[1] & kIndexMask;
  const auto due_us = static_cast<int64_t>(tree_[1] >> kIndexBits);
  const Message& message = vehicle_.messages[index];
  State& state = states_[index];
  drive_.advance_to(due_us);
  frame = {.time_ns = start_ns_ + due_us * kMicrosecond,
           .data = payload(message, state),
           .can_id = message.can_id,
           .length = message.length,
           .label = 0};
  ++state.sent;
  state.due_us += message.period_us;
  schedule(index);
  return true;
}

Bus::Bus(FrameSource& due) : due_(due), more_(due_.next(ahead_)) {
  if (more_) free_ns_ = ahead_.time_ns;
}

void Bus::wait(const CanFrame& frame) {
  auto at = waiting_.end();
  // Frames are sent from the end of the list, so lower IDs, and earlier frames with the same ID, stay closer
  // to the end.
  while (at != waiting_.begin() && (at - 1)->can_id <= frame.can_id) {
    --at;
    if (at->can_id == frame.can_id && at->label == frame.label) {
      *at = frame;
      return;
    }
  }
  waiting_.insert(at, frame);
}

bool Bus::next(CanFrame& frame) {
  if (waiting_.empty()) {
    if (!more_) return false;
    free_ns_ = std::max(free_ns_, ahead_.time_ns);
  }
  while (more_ && ahead_.time_ns <= free_ns_) {
    wait(ahead_);
    more_ = due_.next(ahead_);
  }
  frame = waiting_.back();
  waiting_.pop_back();
  frame.time_ns = free_ns_;
  free_ns_ += frame_time_us(frame.length) * kMicrosecond;
  return true;
}

}  // namespace plimsoll
