#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "can/dbc/dbc.h"
#include "can/frames/frames.h"

namespace plimsoll {

/// Rules of a DBC that a frame can break (docs/dbc.md). `early` and `late` are for cyclic messages with a
/// cycle time.
enum class DbcRule : uint8_t {
  unknown_message,  ///< The DBC has no such ID.
  length,           ///< The frame's length differs from the message's. Not for groups of over 8 bytes.
  early,            ///< The frame comes less than half a cycle after the previous one.
  late,             ///< The frame comes more than three cycles after the previous one.
  range,            ///< A physical value is outside the signal's range by more than half its factor.
  counter,          ///< A counter did not increase by one.
};
inline constexpr std::array<const char*, 6> kDbcRules = {"unknown message", "length", "early", "late",
                                                         "range",           "counter"};

/// Frames of one ID or of one of its signals that broke a rule.
struct DbcFinding {
  /// The frame's ID. If the DBC has only the parameter group of this ID, it is the ID without its priority
  /// or, for a sender beyond DbcRules::kMaxSenders, the group's ID in the DBC.
  uint32_t can_id = 0;
  DbcRule rule = DbcRule::unknown_message;
  std::string signal;    ///< Empty if the rule is about the whole message.
  int64_t frames = 0;    ///< Number of frames that broke the rule.
  int64_t first_ns = 0;  ///< Time of the first of them.
  std::string found;     ///< Value in the first of them.
  std::string expected;
};

/// Checks the frames of one bus against a DBC. Remote and error frames are not checked. Each sender of a
/// J1939 parameter group has its own cycles and counters. Memory is bounded by the DBC, kMaxUnknown IDs and
/// kMaxSenders. Not thread-safe.
class DbcRules {
 public:
  /// Maximum number of unknown IDs with a finding. Frames of further IDs are only counted as broken.
  static constexpr size_t kMaxUnknown = 4096;
  /// Maximum number of senders of parameter groups that the DBC does not list. Cycles and counters of further
  /// senders are not checked.
  static constexpr size_t kMaxSenders = 4096;

  /// `dbc` must outlive it.
  explicit DbcRules(const Dbc& dbc);

  /// Checks frames, which continue those of the previous call.
  void add(const FrameSpans& frames);

  /// Number of frames checked.
  int64_t frames() const { return frames_; }
  /// Number of frames that broke a rule, each counted once.
  int64_t broken() const { return broken_; }
  /// All findings, sorted by ID, rule and signal.
  std::vector<DbcFinding> findings() const;

 private:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::min();

  struct Counter {
    size_t signal;
    int64_t modulus;
    int64_t last = -1;
  };
  struct State {
    const DbcMessage* message;
    std::vector<Counter> counters = {};
    int64_t last_ns = kNever;
  };

  static State state_of(const DbcMessage& message);
  State* find_state(uint32_t& id);
  bool check(const FrameSpans& frames, size_t i);
  bool check_time(State& state, uint32_t id, int64_t time_ns);
  bool check_signals(State& state, uint32_t id, int64_t time_ns, const uint8_t* payload, int64_t bytes);
  void report(uint32_t id, DbcRule rule, const std::string& signal, int64_t time_ns, auto found,
              auto expected);

  const Dbc& dbc_;
  std::map<uint32_t, State> states_;  // States of messages and of senders of groups.
  size_t senders_ = 0;
  State passing_ = {};  // State of a sender beyond kMaxSenders.
  struct ReportedFinding {
    DbcFinding finding;
    // The frame counted last. A frame counts once, even if its message has two signals of this name.
    int64_t frame = 0;
  };
  std::map<std::tuple<uint32_t, DbcRule, std::string>, ReportedFinding> findings_;
  size_t unknown_ = 0;
  int64_t frames_ = 0;
  int64_t broken_ = 0;
};

/// Whether a signal is a counter of frames: its name has a word that ends in "counter" or is "cnt", "ctr" or
/// "alive", in any case, and it is an unsigned number of 2 to 16 bits with factor 1 and offset 0.
bool is_counter(const DbcSignal& signal);

}  // namespace plimsoll
