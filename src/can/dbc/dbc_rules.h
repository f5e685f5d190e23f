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

/// What a frame can break of what a DBC says (docs/dbc.md).
enum class DbcRule : uint8_t {
  unknown_message,  ///< the DBC has no such ID
  length,           ///< another number of bytes
  early,            ///< sooner than half a cycle after the last one
  late,             ///< later than three cycles after the last one
  range,            ///< a physical value outside what the signal states
  counter,          ///< a counter that did not go on by one
};
inline constexpr std::array<const char*, 6> kDbcRules = {"unknown message", "length", "early", "late",
                                                         "range",           "counter"};

/// Frames of one ID, or of one of its signals, that broke a rule.
struct DbcFinding {
  uint32_t can_id = 0;  ///< of a parameter group without its priority
  DbcRule rule = DbcRule::unknown_message;
  std::string signal;    ///< empty where the rule is of a message
  int64_t frames = 0;    ///< that broke it
  int64_t first_ns = 0;  ///< time of the first of them
  std::string found;     ///< by the first of them
  std::string expected;
};

/// Judges the frames of one bus by a DBC. Remote and error frames are not judged. Of a parameter group of
/// J1939 each sender has cycles and counters of its own. What it keeps is bounded by the DBC, by kMaxUnknown
/// IDs and by kMaxSenders. Not thread-safe.
class DbcRules {
 public:
  static constexpr size_t kMaxUnknown = 4096;  ///< others count as broken and are in no finding
  /// Of parameter groups, where the DBC has others; of more, cycles and counters are not judged.
  static constexpr size_t kMaxSenders = 4096;

  /// `dbc` outlives it.
  explicit DbcRules(const Dbc& dbc);

  void add(const FrameSpans& frames);

  int64_t frames() const { return frames_; }
  /// Frames that broke a rule, each counted once.
  int64_t broken() const { return broken_; }
  /// By ID, rule and signal.
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
  bool judge(const FrameSpans& frames, size_t i);
  bool judge_time(State& state, uint32_t id, int64_t time_ns);
  bool judge_signals(State& state, uint32_t id, int64_t time_ns, const uint8_t* payload, int64_t bytes);
  void tell(uint32_t id, DbcRule rule, const std::string& signal, int64_t time_ns, auto found, auto expected);

  const Dbc& dbc_;
  std::map<uint32_t, State> states_;  // of messages, and of senders of groups
  size_t senders_ = 0;
  State passing_ = {};  // of a sender too many
  struct Told {
    DbcFinding finding;
    int64_t frame = 0;  // the last that was counted: a message may have two signals of one name
  };
  std::map<std::tuple<uint32_t, DbcRule, std::string>, Told> findings_;
  size_t unknown_ = 0;
  int64_t frames_ = 0;
  int64_t broken_ = 0;
};

/// Whether a signal is a counter by its name: one of its words, or its end, is "counter", "cnt", "ctr" or
/// "alive".
bool is_counter(const DbcSignal& signal);

}  // namespace plimsoll
