#pragma once

#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace plimsoll {

/// Bytes of a file, little-endian.
class Bytes {
 public:
  template <typename T>
  Bytes& add(T value) {
    const size_t at = text.size();
    text.resize(at + sizeof value);
    std::memcpy(text.data() + at, &value, sizeof value);
    return *this;
  }
  Bytes& add_text(const std::string& more) {
    text += more;
    return *this;
  }
  Bytes& fill(size_t bytes) {
    text.append(bytes, '\0');
    return *this;
  }
  template <typename T>
  void put(size_t at, T value) {
    std::memcpy(text.data() + at, &value, sizeof value);
  }
  size_t size() const { return text.size(); }

  std::string text;
};

/// A small capture of kMadeFrames frames with the IDs 0x100, 0x101 and so on and 8 bytes each, a ms apart, as
/// the specification of its format says.
struct MadeCapture {
  std::string name;  ///< Name of the file.
  std::string bytes;
  /// First byte and end of each frame's record, if records are not compressed.
  std::vector<std::pair<size_t, size_t>> records;
};
constexpr int kMadeFrames = 6;

inline void PrintTo(const MadeCapture& made, std::ostream* out) {
  *out << made.name;
}

inline std::string made_payload(int i) {
  std::string payload;
  for (int k = 0; k < 8; ++k) payload += static_cast<char>(16 * i + k + 1);
  return payload;
}

inline std::string made_socketcan(int i) {
  return Bytes()
      .add(__builtin_bswap32(0x100U + static_cast<uint32_t>(i)))
      .add(uint8_t{8})
      .fill(3)
      .add_text(made_payload(i))
      .text;
}

inline MadeCapture made_pcap() {
  Bytes file;
  file.add(0xA1B2C3D4U).add(uint16_t{2}).add(uint16_t{4}).fill(8).add(262144U).add(227U);
  MadeCapture made{"made.pcap", {}, {}};
  for (int i = 0; i < kMadeFrames; ++i) {
    const size_t begin = file.size();
    file.add(1'700'000'000U)
        .add(1000U * static_cast<uint32_t>(i))
        .add(16U)
        .add(16U)
        .add_text(made_socketcan(i));
    made.records.emplace_back(begin, file.size());
  }
  made.bytes = file.text;
  return made;
}

inline void add_block(Bytes& file, uint32_t type, const std::string& body) {
  const auto length = static_cast<uint32_t>(body.size() + 12);
  file.add(type).add(length).add_text(body).add(length);
}

inline MadeCapture made_pcapng() {
  Bytes file;
  add_block(file, 0x0A0D0D0A,
            Bytes().add(0x1A2B3C4DU).add(uint16_t{1}).add(uint16_t{0}).add(int64_t{-1}).text);
  add_block(file, 1,
            Bytes()
                .add(uint16_t{227})
                .fill(2)
                .add(0U)
                .add(uint16_t{2})
                .add(uint16_t{4})
                .add_text("can0")
                .fill(4)
                .text);
  MadeCapture made{"made.pcapng", {}, {}};
  for (int i = 0; i < kMadeFrames; ++i) {
    const size_t begin = file.size();
    const uint64_t us = 1'700'000'000'000'000 + 1000 * static_cast<uint64_t>(i);
    add_block(file, 6,
              Bytes()
                  .add(0U)
                  .add(static_cast<uint32_t>(us >> 32))
                  .add(static_cast<uint32_t>(us))
                  .add(16U)
                  .add(16U)
                  .add_text(made_socketcan(i))
                  .text);
    made.records.emplace_back(begin, file.size());
  }
  made.bytes = file.text;
  return made;
}

inline std::string made_blf_object(int i) {
  Bytes object;
  object.add_text("LOBJ").add(uint16_t{32}).add(uint16_t{1}).add(56U).add(86U);
  object.add(2U).fill(4).add(uint64_t{1'000'000} * static_cast<uint64_t>(i));  // Nanoseconds.
  object.add(uint16_t{1}).add(uint8_t{0}).add(uint8_t{8}).add(0x100U + static_cast<uint32_t>(i));
  return object.add_text(made_payload(i)).add(0U).fill(4).text;
}

inline Bytes made_blf_header() {
  Bytes file;
  file.add_text("LOGG").add(144U).fill(32);
  for (const uint16_t part : {2023, 11, 2, 14, 22, 13, 20, 0}) file.add(part);  // A SYSTEMTIME.
  return file.fill(144 - file.size());
}

/// Makes objects without a container.
inline MadeCapture made_blf() {
  Bytes file = made_blf_header();
  MadeCapture made{"made.blf", {}, {}};
  for (int i = 0; i < kMadeFrames; ++i) {
    const size_t begin = file.size();
    file.add_text(made_blf_object(i));
    made.records.emplace_back(begin, file.size());
  }
  made.bytes = file.text;
  return made;
}

/// Makes two containers of zlib data.
inline MadeCapture made_packed_blf() {
  Bytes file = made_blf_header();
  for (int first = 0; first < kMadeFrames; first += kMadeFrames / 2) {
    std::string objects;
    for (int i = first; i < first + kMadeFrames / 2; ++i) objects += made_blf_object(i);
    std::string packed(compressBound(objects.size()), '\0');
    uLongf size = packed.size();
    if (compress(reinterpret_cast<Bytef*>(packed.data()), &size,
                 reinterpret_cast<const Bytef*>(objects.data()), objects.size()) != Z_OK)
      throw std::logic_error("compress");
    packed.resize(size);
    file.add_text("LOBJ").add(uint16_t{16}).add(uint16_t{1}).add(static_cast<uint32_t>(32 + size)).add(10U);
    file.add(uint16_t{2}).fill(6).add(static_cast<uint32_t>(objects.size())).fill(4).add_text(packed);
    file.fill(size % 4);
  }
  return {"packed.blf", file.text, {}};
}

/// Makes MDF 4 as loggers write it: the description of records, then records. With `unfinished` flags, the
/// last block has no length.
inline MadeCapture made_mf4(uint16_t unfinished) {
  Bytes file;
  file.add_text(unfinished != 0 ? "UnFinMF " : "MDF     ").add_text("4.10    ").add_text("made    ").fill(4);
  file.add(uint16_t{410}).fill(30).add(unfinished).add(uint16_t{0});
  const auto block = [&](const char* id, const std::vector<uint64_t>& links, const std::string& data,
                         std::optional<uint64_t> length = std::nullopt) {
    const size_t at = file.size();
    file.add_text(id)
        .fill(4)
        .add(length.value_or(24 + 8 * links.size() + data.size()))
        .add(uint64_t{links.size()});
    for (const uint64_t link : links) file.add(link);
    file.add_text(data).fill((8 - file.size() % 8) % 8);
    return uint64_t{at};
  };
  const auto channel = [&](const char* name, uint8_t type, uint32_t byte, uint32_t bits, uint64_t following,
                           uint64_t below, uint64_t conversion) {
    const uint64_t text = block("##TX", {}, std::string(name) + '\0');
    Bytes data;
    data.add(type).add(uint8_t{type == 2}).add(uint8_t{0}).add(uint8_t{0}).add(byte).add(bits).fill(60);
    return block("##CN", {following, below, text, 0, conversion, 0, 0, 0}, data.text);
  };
  block("##HD", {0, 0, 0, 0, 0, 0}, Bytes().add(uint64_t{1'700'000'000'000'000'000}).fill(24).text);
  uint64_t part = channel("CAN_DataFrame.DataBytes", 0, 14, 64, 0, 0, 0);
  part = channel("CAN_DataFrame.DataLength", 0, 13, 8, part, 0, 0);
  part = channel("CAN_DataFrame.ID", 0, 9, 32, part, 0, 0);
  part = channel("CAN_DataFrame.BusChannel", 0, 8, 8, part, 0, 0);
  const uint64_t frame = channel("CAN_DataFrame", 0, 8, 112, 0, part, 0);
  Bytes linear;
  linear.add(uint8_t{1}).fill(5).add(uint16_t{2}).fill(16).add(0.0).add(1e-6);
  const uint64_t time = channel("Timestamp", 2, 0, 64, frame, 0, block("##CC", {0, 0, 0, 0}, linear.text));
  Bytes group;
  group.add(uint64_t{7}).add(uint64_t{unfinished != 0 ? 0U : kMadeFrames}).fill(8).add(22U).fill(4);
  const uint64_t groups = block("##CG", {0, time, 0, 0, 0, 0}, group.text);
  const size_t data_group = file.size();
  block("##DG", {0, groups, 0, 0}, Bytes().add(uint8_t{1}).fill(7).text);
  file.put(64 + 24, uint64_t{data_group});
  file.put(data_group + 24 + 16, uint64_t{file.size()});
  constexpr uint64_t kRecord = 23;
  file.add_text("##DT")
      .fill(4)
      .add(uint64_t{24 + (unfinished != 0 ? 0 : kMadeFrames * kRecord)})
      .add(uint64_t{0});
  MadeCapture made{"made.mf4", {}, {}};
  for (int i = 0; i < kMadeFrames; ++i) {
    const size_t begin = file.size();
    file.add(uint8_t{7}).add(uint64_t{1000} * static_cast<uint64_t>(i)).add(uint8_t{1});
    file.add(0x100U + static_cast<uint32_t>(i)).add(uint8_t{8}).add_text(made_payload(i));
    made.records.emplace_back(begin, file.size());
  }
  made.bytes = file.text;
  return made;
}

}  // namespace plimsoll
