#include "can/dbc/dbc_attributes.h"

#include <algorithm>
#include <cmath>

#include "can/dbc/dbc_numbers.h"
#include "memory/heap_bytes.h"

namespace plimsoll {
namespace {

const std::string kNoText;

std::string lower_case(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

// Reads a number or a text in quotes.
std::string value_of(DbcWords& words) {
  return words.is_next('"') ? dbc_text(words.text().value_or("")) : std::string(words.word(";"));
}

}  // namespace

const std::string& DbcAttributes::Attribute::value_for(uint32_t can_id) const {
  const auto found = own.find(can_id);
  return found == own.end() ? usual : found->second;
}

// The value in the file is the text or the number of an enumeration value.
std::string DbcAttributes::Attribute::word_of(uint32_t can_id) const {
  const std::string value = lower_case(value_for(can_id));
  if (std::ranges::find(words, value) != words.end()) return value;
  const auto number = dbc_number(value);
  if (!number) return value;
  return *number >= 0 && *number < static_cast<double>(words.size()) ? words[static_cast<size_t>(*number)]
                                                                     : "";
}

DbcAttributes::Attribute* DbcAttributes::attribute(std::string_view name) {
  if (name == "GenMsgCycleTime") return &cycle_;
  if (name == "GenMsgSendType") return &send_type_;
  if (name == "VFrameFormat") return &frame_format_;
  if (name == "SystemMessageLongSymbol") return &message_name_;
  return nullptr;
}

// Example: BA_DEF_ BO_ "GenMsgSendType" ENUM "Cyclic","OnChange";
void DbcAttributes::define(DbcWords words) {
  words.up_to('"');
  Attribute* const defined = attribute(words.up_to('"'));
  if (defined == nullptr || words.word() != "ENUM") return;
  defined->words.clear();
  while (words.skip('"')) {
    std::string word = lower_case(dbc_text(words.up_to('"')));
    charge_.add(3 * static_cast<int64_t>(sizeof(std::string)) + heap_bytes(word));
    defined->words.push_back(std::move(word));
    words.skip(',');
  }
}

// Example: BA_DEF_DEF_ "GenMsgCycleTime" 100;
void DbcAttributes::set_default(DbcWords words) {
  words.up_to('"');
  Attribute* const found = attribute(words.up_to('"'));
  if (found == nullptr || found == &message_name_) return;
  found->usual = value_of(words);
  charge_.add(heap_bytes(found->usual));
}

// Examples: BA_ "GenMsgCycleTime" BO_ 291 100; BA_ "SystemSignalLongSymbol" SG_ 291 Speed
// "SpeedOfTheVehicle";
bool DbcAttributes::set(DbcWords words) {
  words.up_to('"');
  const std::string_view name = words.up_to('"');
  Attribute* const found = attribute(name);
  const bool is_signal_name = name == "SystemSignalLongSymbol";
  if (found == nullptr && !is_signal_name) return true;
  if (words.word() != (is_signal_name ? "SG_" : "BO_")) return false;
  const auto can_id = dbc_can_id(words.word());
  if (!can_id) return false;
  std::string key(is_signal_name ? words.word("\"") : "");
  std::string value = value_of(words);
  if (is_signal_name) {
    charge_.add(kMapEntryBytes<decltype(signal_names_)> + heap_bytes(key) + heap_bytes(value));
    signal_names_[{*can_id, std::move(key)}] = std::move(value);
    return true;
  }
  if (found == &cycle_ && !dbc_number(value)) return false;
  charge_.add(kMapEntryBytes<decltype(found->own)> + heap_bytes(value));
  found->own[*can_id] = std::move(value);
  return true;
}

double DbcAttributes::cycle_ms(uint32_t can_id) const {
  return dbc_number(cycle_.value_for(can_id)).value_or(0);
}

bool DbcAttributes::is_cyclic(uint32_t can_id) const {
  const std::string type = send_type_.word_of(can_id);
  return type.empty() || type == "cyclic" || type == "cyclicx";
}

bool DbcAttributes::is_group(uint32_t can_id) const {
  return frame_format_.word_of(can_id) == "j1939pg";
}

const std::string& DbcAttributes::message_name(uint32_t can_id) const {
  return message_name_.value_for(can_id);
}

const std::string& DbcAttributes::signal_name(uint32_t can_id, const std::string& name) const {
  const auto found = signal_names_.find({can_id, name});
  return found == signal_names_.end() ? kNoText : found->second;
}

}  // namespace plimsoll
