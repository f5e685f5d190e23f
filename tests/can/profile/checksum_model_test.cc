#include "can/profile/checksum_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <random>

#include "memory/ledger.h"
#include "support/behaviour_test.h"
#include "support/checks.h"
#include "support/errors.h"

namespace plimsoll {
namespace {

using Payload = std::vector<uint8_t>;
constexpr uint32_t kId = 0x2C1;

// A payload with a counter, a number of 12 bits that wanders, and a flag. One byte is free for the checksum.
Payload telling(int k, std::mt19937& random, int& speed) {
  speed = std::clamp(speed + static_cast<int>(random() % 21) - 10, 0, 4095);
  const auto low = static_cast<uint8_t>(speed);
  return {static_cast<uint8_t>(0x40 | k % 16),   0,    static_cast<uint8_t>(speed >> 8), low,
          static_cast<uint8_t>(k / 500 % 2 * 8), 0x11, static_cast<uint8_t>(low / 3),    0};
}

std::vector<Frame> drive(int frames, const std::function<void(Payload&)>& check) {
  std::mt19937 random(11);
  int speed = 900;
  std::vector<Frame> all;
  for (int k = 0; k < frames; ++k) {
    Payload payload = telling(k, random, speed);
    check(payload);
    all.push_back({k * 10 * kMs, kId, payload});
  }
  return all;
}

uint8_t sum_of(const Payload& bytes) {
  return static_cast<uint8_t>(std::accumulate(bytes.begin(), bytes.end() - 1, 0));
}

uint8_t nibbles_of(const Payload& bytes) {
  int sum = 0;
  for (const uint8_t byte : bytes) sum += (byte >> 4) + (byte & 15);
  return static_cast<uint8_t>(sum);
}

struct Kind {
  const char* name;
  PayloadChecksum::Rule rule;
  uint8_t bits;
  std::function<void(Payload&)> put;
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> kAll = {
      {"SAE J1850", PayloadChecksum::Rule::crc, 8,
       [](Payload& p) { p[7] = kSaeJ1850.over(std::span(p).first(7)); }},
      {"AUTOSAR, identifier after the data", PayloadChecksum::Rule::crc, 8,
       [](Payload& p) {
         Payload covered(p.begin(), p.end() - 1);
         covered.insert(covered.end(), {0x5A, 0x01});
         const auto check = kAutosar.over(covered);
         p.insert(p.begin(), check);
         p.pop_back();
       }},
      {"XOR", PayloadChecksum::Rule::crc, 8,
       [](Payload& p) {
         p[7] = 0x5A;
         for (size_t b = 0; b < 7; ++b) p[7] ^= p[b];
       }},
      // Sums identifier, length and payload, as on Toyota's buses (commaai/opendbc, can/common.cc).
      {"Toyota", PayloadChecksum::Rule::sum, 8,
       [](Payload& p) { p[7] = static_cast<uint8_t>((kId >> 8) + (kId & 255) + 8 + sum_of(p)); }},
      {"two's complement", PayloadChecksum::Rule::sum, 8,
       [](Payload& p) { p[7] = static_cast<uint8_t>(-sum_of(p)); }},
      // The low nibble makes the sum of all nibbles 8 modulo 16, as on Honda's buses (the same source).
      {"Honda", PayloadChecksum::Rule::sum, 4,
       [](Payload& p) { p[7] = static_cast<uint8_t>(0x30 | ((8 - nibbles_of(p) - 3) & 15)); }},
  };
  return kAll;
}

class Kinds : public testing::TestWithParam<size_t> {
 protected:
  const Kind& kind() const { return kinds()[GetParam()]; }
};

TEST_P(Kinds, AreFoundAndAFalseValueBreaksThem) {
  const auto frames = drive(4000, kind().put);
  const BehaviourProfile profile = learned_from({frames.begin(), frames.begin() + 2000});
  const PayloadChecksum* const found = profile.checksums().for_id(0);
  ASSERT_NE(found, nullptr) << kind().name;
  EXPECT_EQ(found->rule, kind().rule);
  EXPECT_EQ(found->bits, kind().bits);
  for (const Frame& frame : frames) ASSERT_FALSE(found->is_broken(packed(frame.payload)));
  // Every single wrong bit breaks the checksum, including bits that benign traffic never changed.
  for (int bit = 0; bit < 64; ++bit)
    EXPECT_TRUE(found->is_broken(packed(frames[3000].payload) ^ uint64_t{1} << bit))
        << kind().name << ", bit " << bit;
}

TEST_P(Kinds, FramesOfAWindowThatBreakThemAreCounted) {
  auto frames = drive(2000, kind().put);
  const BehaviourProfile profile = learned_from(frames);
  for (const int k : {1500, 1501, 1640}) frames[static_cast<size_t>(k)].payload[3] ^= 0x10;
  const FrameBatch batch = batch_of(frames);
  Recording recording;
  recording.frames = std::ssize(frames);
  const auto broken = [&](int64_t first) {
    return profile.checksums().broken(batch.spans(), {&recording, first, 100}, profile.vocabulary());
  };
  EXPECT_EQ(broken(1400), 0);
  EXPECT_EQ(broken(1500), 2);
  EXPECT_EQ(broken(1600), 1);
  recording.has_payload = false;
  EXPECT_EQ(broken(1500), 0);
}

INSTANTIATE_TEST_SUITE_P(ChecksumModel, Kinds, testing::Range<size_t>(0, 6));

// These bytes depend on other bits but are not checksums.
TEST(ChecksumModel, CopiesSignsAndConstantsAreNone) {
  const auto has_none = [](const std::function<void(Payload&)>& put) {
    return learned_from(drive(2000, put)).checksums().checksums().empty();
  };
  EXPECT_TRUE(has_none([](Payload& p) { p[7] = p[3]; }));                            // A copy.
  EXPECT_TRUE(has_none([](Payload& p) { p[7] = p[3] >= 128 ? 0xFF : 0; }));          // A sign.
  EXPECT_TRUE(has_none([](Payload& p) { p[7] = static_cast<uint8_t>(p[0] + 9); }));  // Another counter.
  EXPECT_TRUE(
      has_none([](Payload& p) { p[7] = static_cast<uint8_t>(p[3] + p[6]); }));  // A sum of two signals.
  EXPECT_TRUE(has_none([](Payload& p) { p[7] = 0x77; }));
  std::mt19937 random(5);
  EXPECT_TRUE(has_none([&](Payload& p) { p[7] = static_cast<uint8_t>(random()); }));
}

TEST(ChecksumModel, OneBenignFrameWithoutItIsEnoughToDropIt) {
  const auto put = kinds()[0].put;
  auto frames = drive(2000, put);
  frames[1999].payload[7] ^= 1;
  EXPECT_TRUE(learned_from(frames).checksums().checksums().empty());
  frames[1999].label = 1;
  EXPECT_FALSE(learned_from(frames).checksums().checksums().empty()) << "attacks do not teach";
}

TEST(ChecksumModel, FewPayloadsTeachNothing) {
  EXPECT_TRUE(learned_from(drive(16, kinds()[3].put)).checksums().checksums().empty());
}

TEST(ChecksumModel, MemoryDoesNotGrowWithIds) {
  std::vector<Frame> frames;
  std::mt19937 random(2);
  for (int k = 0; k < 60'000; ++k) {
    Payload payload(8);
    for (uint8_t& byte : payload) byte = static_cast<uint8_t>(random());
    frames.push_back({k * kMs, static_cast<uint32_t>(k % 2000), payload});
  }
  const FrameBatch batch = batch_of(frames);
  const Recording recording;
  const FrameWindow run{&recording, 0, std::ssize(frames)};
  MessageIds ids{MessageKeys(2000)};
  std::iota(ids.keys.begin(), ids.keys.end(), MessageKey{0});
  const Vocabulary vocabulary(ids);
  Ledger& ledger = Ledger::process();
  const int64_t before = ledger.held();
  ledger.begin_recent();
  ChecksumModel::learn(batch.spans(), {&run, 1}, vocabulary);
  EXPECT_LE(ledger.recent_peak() - before, int64_t{4} << 20);
}

TEST(ChecksumModel, IsTheSameFromItsTensors) {
  for (const size_t kind : {size_t{0}, size_t{3}}) {
    const auto frames = drive(2000, kinds()[kind].put);
    const ChecksumModel model = learned_from(frames).checksums();
    NamedTensors tensors = model.tensors();
    const ChecksumModel again = ChecksumModel::from_tensors(tensors, 1);
    ASSERT_EQ(again.checksums().size(), 1U);
    EXPECT_EQ(again.for_id(0)->terms, model.for_id(0)->terms);
    EXPECT_EQ(again.for_id(0)->known, model.for_id(0)->known);
    EXPECT_EQ(again.for_id(0)->start, model.for_id(0)->start);
    for (const Frame& frame : frames) EXPECT_FALSE(again.for_id(0)->is_broken(packed(frame.payload)));
    EXPECT_EQ(again.for_id(1), nullptr);
    EXPECT_EQ(again.for_id(-1), nullptr);
    for (const std::vector<int64_t>& wrong : {std::vector<int64_t>{1, 56, 8, 0, 0},
                                              {0, 60, 8, 0, 0},
                                              {0, 56, 7, 0, 0},
                                              {0, 56, 8, 2, 0},
                                              {0, 56, 8, 0, 256},
                                              {-1, 56, 8, 0, 0},
                                              {0, -8, 8, 0, 0}}) {
      tensors["profile.checksum_place"] = own_tensor<int64_t>(wrong, {1, 5});
      const auto text = error_text<InputError>([&] { ChecksumModel::from_tensors(tensors, 1); });
      EXPECT_THAT(text, testing::HasSubstr("in row 0; calibrate it again"));
    }
  }
  EXPECT_TRUE(ChecksumModel::from_tensors({}, 1).checksums().empty());
}

}  // namespace
}  // namespace plimsoll
