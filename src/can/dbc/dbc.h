#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "memory/charge.h"

namespace plimsoll {

/// A range of raw values of a multiplexor, both bounds included.
struct DbcRange {
  int64_t first = 0;
  int64_t last = 0;
};

/// A signal of a DBC: `SG_ NAME m2 : 7|16@0+ (0.01,0) [0|655.35] "km/h" RECEIVER`.
struct DbcSignal {
  std::string name;
  /// Number of the least significant bit (Intel) or the most significant bit (Motorola).
  int start = 0;
  int length = 0;  ///< Bits, 1 to 64.
  bool intel = true;
  bool is_signed = false;
  bool is_float = false;  ///< IEEE 754 with 32 or 64 bits.
  double factor = 1;
  double offset = 0;
  double min = 0;  ///< `min` and `max` are both 0 if the DBC states no range.
  double max = 0;
  std::string unit;
  /// Index of the message's signal whose value decides whether this signal is present; -1 if it is always
  /// present.
  int multiplexor = -1;
  /// Raw values of the multiplexor for which the signal is present.
  std::vector<DbcRange> multiplexor_values = {};

  bool has_range() const { return min < max; }
  /// Whether a raw value in a parameter group means "no value" or "error" (SAE J1939-71, ISO 11783-7).
  bool is_no_value(int64_t raw) const;
  /// The raw value in a payload, sign-extended; for a float, its bits. None if the payload is too short.
  /// Whether a multiplexed signal is present is not checked (DbcPayload::raw()).
  std::optional<int64_t> raw(const uint8_t* payload, int64_t bytes) const;
  /// `factor` times the raw value, plus `offset`.
  double physical(int64_t raw) const;
};

/// A message of a DBC: `BO_ 291 Engine: 8 ECU` and its signals.
struct DbcMessage {
  std::string name;
  int64_t length = 0;   ///< Bytes of payload.
  double cycle_ms = 0;  ///< Attribute GenMsgCycleTime; 0 if there is none.
  /// False if GenMsgSendType exists and is not "cyclic" or similar, as for messages sent on events.
  bool is_cyclic = true;
  bool is_group = false;  ///< VFrameFormat is J1939PG: a parameter group with any sender (can/dbc/j1939.h).
  std::vector<DbcSignal> signals = {};
};

/// A payload and the message that describes it. Not thread-safe.
class DbcPayload {
 public:
  /// `message` and `payload` must outlive it. `bytes` is the size of `payload`.
  DbcPayload(const DbcMessage& message, const uint8_t* payload, int64_t bytes)
      : message_(message), payload_(payload), bytes_(bytes) {}

  /// The raw value of a signal of the message. None if the payload is too short or the value of a multiplexor
  /// says that the signal is absent.
  std::optional<int64_t> raw(const DbcSignal& signal);

 private:
  const DbcMessage& message_;
  const uint8_t* payload_;
  int64_t bytes_;
  int multiplexor_ = -1;               // The multiplexor that was read last.
  std::optional<int64_t> value_ = {};  // Its raw value.
};

/// A line of a DBC that breaks its grammar, and how it was handled.
struct DbcRemark {
  int64_t line = 0;
  std::string found;     ///< Text that was found, in printable characters.
  std::string expected;  ///< Expected text, such as "a number after the m of a multiplexed signal".
  std::string done;      ///< Result, such as "left out".

  /// The remark as "6: found 'SG_ A m : ...', expected ...; left out".
  std::string text() const;
};

/// The remarks on a DBC. Not thread-safe.
class DbcRemarks {
 public:
  static constexpr size_t kMaxKept = 64;

  /// Counts a remark, and keeps it if it is one of the first kMaxKept.
  void add(int64_t line, std::string_view found, std::string expected, std::string done);
  /// Sorts the kept remarks by line.
  void sort();
  /// The remarks that were added first, at most kMaxKept.
  const std::vector<DbcRemark>& kept() const { return kept_; }
  /// Number of remarks, kept or not. A line may have several.
  int64_t count() const { return count_; }

 private:
  std::vector<DbcRemark> kept_;
  int64_t count_ = 0;
};

/// The messages of a DBC. Immutable, so any number of threads may read.
class Dbc {
 public:
  /// Messages by can_id. Extended IDs have SocketCAN's flag.
  using Messages = std::map<uint32_t, DbcMessage>;

  Dbc() = default;
  /// `charge` accounts for the memory of the messages. A parameter group must have an extended ID.
  Dbc(Messages messages, DbcRemarks remarks, Charge charge);

  const Messages& messages() const { return messages_; }
  /// The message of an ID, whether the frame is remote or not; null if there is none. If the DBC lacks the ID
  /// but has messages of its parameter group, returns one of these: the one with the same source address,
  /// else the one with the null address 254, else the first.
  const Messages::value_type* find(uint32_t can_id) const;
  /// The name of the ID's message; "" if there is none.
  std::string name_of(uint32_t can_id) const;
  /// Whether a message is a parameter group.
  bool has_groups() const { return !groups_.empty(); }
  const DbcRemarks& remarks() const { return remarks_; }

 private:
  Charge charge_{Tag::columns};
  Messages messages_;
  DbcRemarks remarks_;
  std::map<uint32_t, std::vector<uint32_t>> groups_;  // IDs by group number.
};

/// Reads messages, signals, their multiplexing and value types, and the attributes GenMsgCycleTime,
/// GenMsgSendType, VFrameFormat, SystemMessageLongSymbol and SystemSignalLongSymbol. Other statements are
/// skipped. Names and units are in UTF-8. A line that breaks the grammar does not affect other lines:
/// Dbc::remarks() says how it was handled. Errors: InputError for a file without a message, in UTF-16 or in
/// another format (ARXML, KCD, SYM); those of File::open(); BudgetExceeded.
Dbc read_dbc(const std::filesystem::path& path);

}  // namespace plimsoll
