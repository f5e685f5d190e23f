#include "can/dbc/dbc_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "can/dbc/j1939.h"

namespace plimsoll {
namespace {

constexpr double kEarly = 0.5;  // Cycles. The delay on a busy bus is shorter.
constexpr double kLate = 3;     // Cycles.
constexpr int kCounterBits = 16;

}  // namespace

// Examples are RollingCounter, MSG_CNT and AliveCtr_3, but not Account or a counter of kilometres, which has
// more bits than a counter of frames.
bool is_counter(const DbcSignal& signal) {
  if (signal.is_signed || signal.is_float || signal.length < 2 || signal.length > kCounterBits ||
      signal.factor != 1 || signal.offset != 0)
    return false;
  std::vector<std::string> words(1);
  for (size_t i = 0; i < signal.name.size(); ++i) {
    const char c = signal.name[i];
    const bool upper = c >= 'A' && c <= 'Z', lower = c >= 'a' && c <= 'z';
    const bool begins = upper && i > 0 && signal.name[i - 1] >= 'a' && signal.name[i - 1] <= 'z';
    if (begins || !(upper || lower)) words.emplace_back();
    if (upper || lower) words.back() += upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return std::ranges::any_of(words, [](const std::string& word) {
    return word.ends_with("counter") || word == "cnt" || word == "ctr" || word == "alive";
  });
}

DbcRules::DbcRules(const Dbc& dbc) : dbc_(dbc) {
  for (const auto& [id, message] : dbc.messages()) states_.emplace(id, state_of(message));
}

DbcRules::State DbcRules::state_of(const DbcMessage& message) {
  State state{.message = &message};
  for (size_t s = 0; s < message.signals.size(); ++s) {
    const DbcSignal& signal = message.signals[s];
    if (!is_counter(signal)) continue;
    const int64_t states = int64_t{1} << signal.length;
    const bool stated = signal.min == 0 && signal.max > 0 && signal.max < static_cast<double>(states);
    state.counters.push_back({s, stated ? static_cast<int64_t>(signal.max) + 1 : states});
  }
  return state;
}

// Returns null if the DBC has no such message. Sets `id` to the ID that findings name.
DbcRules::State* DbcRules::find_state(uint32_t& id) {
  const auto exact = states_.find(id);
  if (exact != states_.end()) return &exact->second;
  const auto* const message = dbc_.find(id);
  if (message == nullptr) return nullptr;
  // The priority is ignored because it may differ from frame to frame.
  const uint32_t sender = id & ~kJ1939Priority;
  const auto known = states_.find(sender);
  if (known == states_.end() && senders_ == kMaxSenders) {
    id = message->first;
    passing_ = state_of(message->second);
    return &passing_;
  }
  id = sender;
  if (known != states_.end()) return &known->second;
  ++senders_;
  return &states_.emplace(sender, state_of(message->second)).first->second;
}

void DbcRules::add(const FrameSpans& frames) {
  for (size_t i = 0; i < frames.time_ns.size(); ++i) {
    if ((frames.can_id[i] & (kCanRemote | kCanError)) != 0) continue;
    ++frames_;
    broken_ += check(frames, i);
  }
}

bool DbcRules::check(const FrameSpans& frames, size_t i) {
  uint32_t id = frames.can_id[i];
  const int64_t time_ns = frames.time_ns[i];
  const int64_t bytes = frames.length[i];
  State* const found = find_state(id);
  if (found == nullptr) {
    const bool is_new = !findings_.contains({id, DbcRule::unknown_message, ""});
    if (is_new && unknown_ == kMaxUnknown) return true;
    unknown_ += is_new;
    report(
        id, DbcRule::unknown_message, "", time_ns, [&] { return fmt::format("{} bytes", bytes); },
        [] { return std::string("an ID of the DBC"); });
    return true;
  }
  State& state = *found;
  bool broken = check_time(state, id, time_ns);
  // A group that may be longer than a frame is sent in frames of the transport protocol, or is shorter than
  // stated.
  const bool is_long_group = state.message->is_group && state.message->length > kPayloadBytes;
  if (bytes != state.message->length && !is_long_group) {
    broken = true;
    report(
        id, DbcRule::length, "", time_ns, [&] { return fmt::format("{} bytes", bytes); },
        [&] { return fmt::format("{}", state.message->length); });
  }
  const uint8_t* const payload = frames.data.data() + static_cast<int64_t>(i) * frames.width;
  return check_signals(state, id, time_ns, payload, std::min(bytes, frames.width)) || broken;
}

bool DbcRules::check_time(State& state, uint32_t id, int64_t time_ns) {
  const int64_t last_ns = std::exchange(state.last_ns, time_ns);
  const double cycle_ms = state.message->cycle_ms;
  // If times run backwards, another recording has started or the clock was set.
  if (last_ns == kNever || time_ns < last_ns || !state.message->is_cyclic || !(cycle_ms > 0)) return false;
  const double gap_ms = static_cast<double>(time_ns - last_ns) * 1e-6;
  const bool early = gap_ms < kEarly * cycle_ms;
  if (!early && gap_ms <= kLate * cycle_ms) return false;
  report(
      id, early ? DbcRule::early : DbcRule::late, "", time_ns,
      [&] { return fmt::format("{:.3f} ms", gap_ms); }, [&] { return fmt::format("{:g} ms", cycle_ms); });
  return true;
}

bool DbcRules::check_signals(State& state, uint32_t id, int64_t time_ns, const uint8_t* payload,
                             int64_t bytes) {
  bool broken = false;
  const std::vector<DbcSignal>& signals = state.message->signals;
  DbcPayload values(*state.message, payload, bytes);
  for (const DbcSignal& signal : signals) {
    if (!signal.has_range()) continue;
    const std::optional<int64_t> raw = values.raw(signal);
    if (!raw || (state.message->is_group && signal.is_no_value(*raw))) continue;
    const double value = signal.physical(*raw);
    // The bounds in a DBC are rounded. NaN is outside of any bounds.
    const double slack = signal.is_float ? 0 : std::abs(signal.factor) / 2;
    if (value >= signal.min - slack && value <= signal.max + slack) continue;
    broken = true;
    report(
        id, DbcRule::range, signal.name, time_ns, [&] { return fmt::format("{:g} {}", value, signal.unit); },
        [&] { return fmt::format("{:g} .. {:g} {}", signal.min, signal.max, signal.unit); });
  }
  for (Counter& counter : state.counters) {
    const DbcSignal& signal = signals[counter.signal];
    const std::optional<int64_t> raw = values.raw(signal);
    if (!raw) continue;
    if (state.message->is_group && signal.is_no_value(*raw)) {
      counter.last = -1;
      continue;
    }
    const int64_t last = std::exchange(counter.last, *raw);
    const int64_t next = (last + 1) % counter.modulus;
    if (last < 0 || *raw == next) continue;
    broken = true;
    report(
        id, DbcRule::counter, signal.name, time_ns, [&] { return fmt::format("{}", *raw); },
        [&] { return fmt::format("{}", next); });
  }
  return broken;
}

void DbcRules::report(uint32_t id, DbcRule rule, const std::string& signal, int64_t time_ns, auto found,
                      auto expected) {
  const auto [at, is_new] = findings_.try_emplace({id, rule, signal});
  ReportedFinding& reported = at->second;
  if (is_new)
    reported.finding = {.can_id = id,
                        .rule = rule,
                        .signal = signal,
                        .frames = 0,
                        .first_ns = time_ns,
                        .found = found(),
                        .expected = expected()};
  reported.finding.frames += std::exchange(reported.frame, frames_) != frames_;
}

std::vector<DbcFinding> DbcRules::findings() const {
  std::vector<DbcFinding> all;
  for (const auto& [key, reported] : findings_) all.push_back(reported.finding);
  return all;
}

}  // namespace plimsoll
