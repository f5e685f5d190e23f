#include "base/json_text.h"
#include "can/dbc/dbc_rules.h"
#include "fuzz/property.h"
#include "fuzz/scratch.h"

namespace {

void check_dbc(const plimsoll::Dbc& dbc) {
  using namespace plimsoll;
  expect(static_cast<int64_t>(dbc.remarks().kept().size()) <= dbc.remarks().count(), "remarks are counted");
  for (const auto& [id, message] : dbc.messages()) {
    expect(is_utf8(message.name), "names are UTF-8");
    for (const DbcSignal& signal : message.signals) {
      expect(is_utf8(signal.name) && is_utf8(signal.unit), "texts are UTF-8");
      expect(signal.multiplexor < static_cast<int>(message.signals.size()), "a multiplexor is a signal");
      expect(signal.length >= 1 && signal.length <= 64 && signal.start >= 0, "a signal has bits");
    }
  }
}

}  // namespace

// The DBC in front of the first zero byte is applied to frames from the bytes after it.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll;
  const std::string_view text = text_of(data, size);
  const size_t end = std::min(text.find('\0'), size);
  succeeds([&] {
    const Dbc dbc = read_dbc(Scratch::write("fuzz.dbc", text.substr(0, end)));
    check_dbc(dbc);
    DbcRules rules(dbc);
    int64_t frames = 0;
    for (const auto& [message_id, message] : dbc.messages())
      for (size_t at = end; at + 9 <= size; at += 9) {
        const int64_t time_ns = static_cast<int64_t>(at) * 1'000'000;
        const uint8_t length = data[at] % 9, label = 0;
        // The message itself, and another sender of its group.
        const uint32_t id = data[at] < 128 ? message_id : message_id ^ data[at + 1];
        if (message.is_group) expect(dbc.find(id) != nullptr, "a group has senders");
        rules.add({.time_ns = {&time_ns, 1},
                   .can_id = {&id, 1},
                   .length = {&length, 1},
                   .data = {data + at + 1, 8},
                   .label = {&label, 1}});
        ++frames;
      }
    expect(rules.frames() == frames, "each frame is judged");
    expect(rules.broken() <= frames, "a frame counts once");
    for (const DbcFinding& finding : rules.findings())
      expect(finding.frames >= 1 && finding.frames <= frames, "a finding has frames");
  });
  return 0;
}
